import { clusterAt } from '../support/cluster.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { restartControllers } from '../support/restart-controllers.ts';
import { rolesFollow } from '../support/roles-follow.ts';
import { type Stage, startStage } from '../support/stage.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';
import { type ApiProxy, startApiProxy } from './api-proxy.ts';
import { type Ask, ask, type Outcome } from './ask.ts';
import { type HonestCaller, honestCaller } from './honest-caller.ts';

/** Controller and gateway on a real API server, behind a network that can fail, with honest callers at the gateway. */
export interface ClusterServed extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly stage: Stage;
  readonly proxy: ApiProxy;
  readonly honest: HonestCaller;
  readonly process: { output(): string };
  readonly upstream: ScriptedUpstream;
  readonly key: string;
  readonly master: string;
  ask(request: Partial<Ask>): Promise<Outcome>;
  /** Makes a node and waits until the controller has synced it and the gateway serves its model. */
  follows(limitMs?: number): Promise<boolean>;
}

/** Starts all of it, about 10 s. A controller that ends because it lost its lease is started anew, as a kubelet does. */
export async function startClusterServed(): Promise<ClusterServed> {
  const plane = await startControlPlane();
  const proxy = await startApiProxy(plane);
  const { kubeconfig } = proxy;
  const stage = await startStage({
    cluster: clusterAt(plane),
    namespaces: ['faults'],
    kubeconfigs: async () => ({ controller: kubeconfig, gateway: kubeconfig }),
  });
  const upstream = await stage.addNode('honest', { upstream: { models: ['honest'], chunks: 3 } });
  const { resources, home } = stage;
  const key = await resources.addKey(home, 'honest');
  const disabled = await resources.addKey(home, 'disabled', { enabled: false });
  const master = await resources.addKey(home, 'master', {}, 'MasterKey');
  const baseURL = stage.gateways[0]?.baseURL() ?? '';
  await eventually(
    'the key opens',
    async () => (await stage.caller(key).chat('honest')).status === 200,
    30_000,
  );
  await eventually(
    'so does the master key',
    async () => (await stage.caller(master).send('GET', '/keys')).status === 200,
  );
  const honest = honestCaller({
    baseURL: () => baseURL,
    key,
    wrongKeys: [disabled, `${key.slice(0, -1)}!`, master],
    model: 'honest',
    chunks: 3,
  });
  const stopRestarting = restartControllers(stage);
  let probes = 0;
  const served: ClusterServed = {
    ...{ plane, stage, proxy, honest, upstream, key, master },
    process: { output: () => stage.gateways[0]?.output() ?? '' },
    ask: (request) => ask(baseURL, { key, ...request }),
    async follows(limitMs = 90_000) {
      probes += 1;
      const name = `probe-${probes}`;
      const serving = async () => (await served.ask({ path: `/models/${name}` })).status === 200;
      await rolesFollow(stage, name, serving, limitMs);
      return true;
    },
    async [Symbol.asyncDispose]() {
      stopRestarting();
      await honest.stop();
      await stage[Symbol.asyncDispose]();
      await proxy.stop();
      await plane.stop();
    },
  };
  return served;
}
