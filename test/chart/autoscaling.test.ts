import { afterAll, beforeAll, expect, test } from 'vitest';
import { chartFolder } from '../support/chart.ts';
import { type Cluster, sharedCluster } from '../support/cluster.ts';
import { type Helm, startHelm } from '../support/helm.ts';

// What Helm does to the number of gateways when the autoscaler takes over. No pods run here.
let cluster: Cluster;
let helm: Helm;
let home: string;
beforeAll(async () => {
  cluster = sharedCluster();
  helm = await startHelm(cluster.address.kubeconfig);
  await cluster.applyCrds();
  home = await cluster.newNamespace('autoscaling');
});
afterAll(async () => {
  await helm?.run(['uninstall', 'mg', '--namespace', home]);
  await helm?.[Symbol.asyncDispose]();
});

const deployment = () => `/apis/apps/v1/namespaces/${home}/deployments/mg-model-gateway-gateway`;

async function release(verb: 'install' | 'upgrade', gateway: object): Promise<number> {
  const policies = {
    secretReaders: false,
    gatewayWrites: false,
    gatewayReports: false,
    controllerSecrets: false,
    keepSealing: false,
  };
  const values = { crds: { enabled: false }, admissionPolicies: policies, gateway };
  const { code, stderr } = await helm.run(
    [verb, 'mg', chartFolder, '--namespace', home, '--values', '-'],
    JSON.stringify(values),
  );
  expect(code, stderr).toBe(0);
  return replicas();
}

async function replicas(): Promise<number> {
  const { spec } = (await cluster.client.ask('GET', deployment())) as { spec: { replicas: number } };
  return spec.replicas;
}

test('switching the autoscaler on, and every upgrade after that, keeps the number of replicas', async () => {
  const autoscaling = { enabled: true, minReplicas: 3 };
  expect(await release('install', { replicas: 3 })).toBe(3);
  expect(await release('upgrade', { autoscaling })).toBe(3);
  // The autoscaler's part.
  const scale = { spec: { replicas: 7 } };
  await cluster.client.ask('PATCH', `${deployment()}/scale`, { body: scale });
  expect(await release('upgrade', { autoscaling, podLabels: { a: 'b' } })).toBe(7);
  const path = `/apis/autoscaling/v2/namespaces/${home}/horizontalpodautoscalers/mg-model-gateway-gateway`;
  expect(await cluster.client.ask('GET', path)).toMatchObject({
    spec: {
      metrics: [{ resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: '650m' } } }],
    },
  });
});
