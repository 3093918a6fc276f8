import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWith, applyPolicies, deletePolicies } from '../support/chart-policies.ts';
import { type Cluster, sharedCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type Helm, startHelm } from '../support/helm.ts';
import { podToken } from '../support/pod-token.ts';
import { reportOf, reportPath } from '../support/reports.ts';

// Who may write a GatewayReport: tokens bound to pods, as the kubelet gives them.
const account = 'mg-model-gateway-gateway';
let cluster: Cluster;
let helm: Helm;
let home: string;
let asPod: Cluster;
let asOtherPod: Cluster;
let asAccount: Cluster;

beforeAll(async () => {
  cluster = sharedCluster();
  helm = await startHelm();
  await cluster.applyCrds();
  home = await cluster.newNamespace('reports');
  await applyPolicies(cluster, helm, home);
  // More than the chart's Role grants: the policy must hold even if somebody widens that.
  const rules = [{ apiGroups: ['modelgateway.dev'], resources: ['*'], verbs: ['*'] }];
  asAccount = await accountWith(cluster, home, account, rules);
  asPod = await podToken(cluster, home, account, 'gateway-a');
  asOtherPod = await podToken(cluster, home, account, 'gateway-b');
  await eventually('the policy is in force', async () => {
    const path = `${reportPath(home)}?dryRun=All`;
    const { status } = await cluster.client.send('POST', path, { body: reportOf('by-the-admin') });
    return status === 422 || status === 403;
  });
  await asPod.client.ask('POST', reportPath(home), { body: reportOf('gateway-a') });
});
afterAll(async () => {
  await deletePolicies(cluster, home);
  await helm?.[Symbol.asyncDispose]();
});

const change = { spec: { requestsInFlight: 7 } };

describe('a report', () => {
  test('is written by the pod whose name it has', async () => {
    const path = reportPath(home, 'gateway-a');
    expect((await asPod.client.send('PATCH', path, { body: change })).status).toBe(200);
  });

  test.each([
    ['another pod’s token', () => asOtherPod, /token of the pod "gateway-b"/],
    ['a token of the account without a pod', () => asAccount, /no token of a pod/],
    ['an admin', () => cluster, /no token of a pod/],
  ])('is not written by %s', async (_who, who, why) => {
    const path = reportPath(home, 'gateway-a');
    const forged = await who().client.send('PATCH', path, { body: { spec: { requestsInFlight: 9 } } });
    expect(forged.status).toBe(403);
    expect((forged.body as { message: string }).message).toMatch(why);
    const made = await who().client.send('POST', reportPath(home), { body: reportOf('gateway-c') });
    expect(made.status).toBe(403);
  });

  test('may get another label by a person, and is removed by an admin', async () => {
    const path = reportPath(home, 'gateway-a');
    const label = { metadata: { labels: { seen: 'yes' } } };
    expect((await cluster.client.send('PATCH', path, { body: label })).status).toBe(200);
    const gone = await cluster.client.send('DELETE', `${path}?dryRun=All`);
    expect(gone.status).toBe(200);
  });

  test('is all that the gateway may write beside keys, and only at home', async () => {
    const removed = await asPod.client.send('DELETE', reportPath(home, 'gateway-a'));
    expect(removed.status).toBe(403);
    expect(JSON.stringify(removed.body)).toMatch(/write its report, and nothing else/);
  });
});
