import { setTimeout as delay } from 'node:timers/promises';
import { resourcePathOf } from '../support/resources.ts';
import type { ApiCall, ApiFault } from './api-proxy.ts';
import type { ClusterServed } from './cluster-served.ts';
import type { Fault } from './fault.ts';
import type { Scene } from './scene.ts';

const ours = (url: string) => url.includes('/modelgateway.dev/');

/** The API server misbehaves so for a while; callers notice nothing, and what changed meanwhile bites afterwards. */
function storm(
  id: string,
  promise: string,
  rule: (call: ApiCall, count: number) => ApiFault | undefined,
  forMs = 6_000,
): Fault {
  return {
    ...{
      id: `api-server-${id}`,
      group: 'api-server',
      section: 'Static stability',
      promise,
      needs: ['control plane'],
    },
    async run(scene) {
      const served = await scene.cluster();
      const { proxy, stage } = served;
      const revoked = await stage.resources.addKey(stage.home, `revoked-${id}`);
      await scene.recovers(
        'a new key opens',
        async () => (await served.ask({ key: revoked, path: '/models' })).status === 200,
        20_000,
      );
      const before = proxy.count();
      let calls = 0;
      proxy.misbehave((call) => {
        calls += 1;
        return rule(call, calls);
      });
      scene.onEnd(() => proxy.misbehave(undefined));
      proxy.cut();
      await stage.resources.remove('APIKey', stage.home, `revoked-${id}`);
      await delay(forMs);
      const asked = proxy.count() - before;
      const perSecond = asked / (forMs / 1000);
      scene.must(`the API server is not flooded: ${perSecond.toFixed(1)} requests/s`, perSecond < 50);
      const ready = await stage.gateways[0]?.probe('/readyz');
      scene.same('/readyz of the gateway', ready?.status, 200);
      proxy.misbehave(undefined);
      // A watch that is open goes on as it began.
      proxy.cut();
      await recovered(scene, served, revoked);
      scene.saw(
        `${perSecond.toFixed(1)} requests/s of controller and gateway meanwhile; all followed afterwards`,
      );
    },
  };
}

async function recovered(scene: Scene, served: ClusterServed, revoked: string): Promise<void> {
  await scene.recovers(
    'a key revoked meanwhile is refused',
    async () => (await served.ask({ key: revoked, path: '/models' })).status === 401,
    60_000,
  );
  await scene.recovers('controller and gateway follow again', () => served.follows(), 120_000);
}

const expired = { kind: 'status', status: 410, reason: 'Expired' } as const;

export const apiServerFaults: readonly Fault[] = [
  {
    id: 'api-server-away',
    group: 'api-server',
    section: 'Static stability',
    promise:
      'the API server dies and is away: callers notice nothing, gateways stay ready, keys cannot be made and that is said; all follow once it is back',
    needs: ['control plane'],
    async run(scene) {
      const served = await scene.cluster();
      const { plane, stage } = served;
      const disabled = await stage.resources.addKey(stage.home, 'disabled-before', { enabled: false });
      const status = async (key: string) => (await served.ask({ key, path: '/models' })).status;
      await plane.stopApiServer();
      const began = performance.now();
      const { status: refused } = await served.ask({ key: served.master, path: '/keys', body: {} });
      scene.same('POST /v1/keys meanwhile', refused, 503);
      // Longer than a lease lasts.
      await delay(Math.max(0, 25_000 - (performance.now() - began)));
      scene.same('/readyz meanwhile', (await stage.gateways[0]?.probe('/readyz'))?.status, 200);
      scene.same('a disabled key meanwhile', await status(disabled), 401);
      scene.same('a good key meanwhile', await status(served.key), 200);
      await plane.startApiServer();
      await stage.resources.patch('APIKey', stage.home, 'disabled-before', { spec: { enabled: true } });
      await scene.recovers('a change bites', async () => (await status(disabled)) === 200, 60_000);
      await scene.recovers('controller and gateway follow', () => served.follows(), 120_000);
      scene.saw('away for 25 s: POST /v1/keys 503, /readyz 200; all followed afterwards');
    },
  },
  storm(
    '410-storm',
    'every watch is told that its place is lost: lists anew with pauses, serves on, and misses nothing',
    ({ watch, url }) => (watch && ours(url) ? expired : undefined),
  ),
  storm('slow', 'each answer of the API server takes 3 s: no caller waits for it', () => ({
    kind: 'delay',
    ms: 3_000,
  })),
  storm(
    'too-many-requests',
    'the API server refuses everything with 429 and Retry-After: callers notice nothing',
    () => ({ kind: 'status', status: 429, reason: 'TooManyRequests', retryAfter: 1 }),
  ),
  storm('failing', 'the API server answers 500 to everything: callers notice nothing', () => ({
    kind: 'status',
    status: 500,
    reason: 'InternalError',
  })),
  storm(
    'resets',
    'every other connection to the API server is reset: callers notice nothing',
    (_call, count) => (count % 2 === 0 ? { kind: 'reset' } : undefined),
  ),
  storm(
    'partial-lists',
    'lists and watches that break off in the middle are never taken for complete: nothing falls out of force',
    ({ method, url }) => (method === 'GET' && ours(url) ? { kind: 'cut', bytes: 700 } : undefined),
  ),
  storm(
    'lying-versions',
    'versions that go backwards or are none do not lose or revive anything',
    ({ method, url }, count) =>
      method === 'GET' && ours(url)
        ? {
            kind: 'change',
            change: (text) => text.replace(/"resourceVersion":"\d+"/g, `"resourceVersion":"${count % 3}"`),
          }
        : undefined,
  ),
  storm('garbage', 'answers that are no JSON are never taken for objects', ({ method, url }) =>
    method === 'GET' && ours(url) ? { kind: 'change', change: () => '<html>proxy error</html>' } : undefined,
  ),
  {
    id: 'api-server-webhook-refuses',
    group: 'api-server',
    section: 'Keys API',
    promise:
      'a webhook that refuses all writes: a key that cannot be made is not answered, callers are served, and all writes come through once it is gone',
    needs: ['control plane'],
    async run(scene) {
      const served = await scene.cluster();
      const { client } = served.stage.cluster;
      const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
      const name = 'nobody-listens.example.com';
      await client.ask('POST', path, {
        body: {
          metadata: { name },
          webhooks: [
            {
              name,
              clientConfig: { url: 'https://127.0.0.1:1/refuse' },
              rules: [
                {
                  apiGroups: ['modelgateway.dev'],
                  apiVersions: ['*'],
                  operations: ['*'],
                  resources: ['*', '*/status'],
                },
              ],
              failurePolicy: 'Fail',
              sideEffects: 'None',
              admissionReviewVersions: ['v1'],
              timeoutSeconds: 2,
            },
          ],
        },
      });
      let there = true;
      const remove = async () => {
        if (there) await client.ask('DELETE', `${path}/${name}`);
        there = false;
      };
      scene.onEnd(remove);
      const make = () => served.ask({ key: served.master, path: '/keys', body: {} });
      await scene.recovers('the webhook is in force', async () => (await make()).status !== 201, 20_000);
      const { status, message } = await make();
      scene.must(`POST /v1/keys: ${status}`, status >= 400 && status !== 401);
      await delay(3_000);
      await remove();
      await scene.recovers('keys are made again', async () => (await make()).status === 201, 60_000);
      await scene.recovers('controller and gateway follow', () => served.follows(), 120_000);
      scene.saw(`POST /v1/keys meanwhile ${status}: ${message}`);
    },
  },
  {
    id: 'api-server-quota',
    group: 'api-server',
    section: 'Keys API',
    promise: 'a namespace whose quota is used up refuses new keys with a reason, and harms no other request',
    needs: ['control plane'],
    async run(scene) {
      const served = await scene.cluster();
      const { stage } = served;
      const { client } = stage.cluster;
      const path = `/api/v1/namespaces/${stage.home}/resourcequotas`;
      const hard = { 'count/apikeys.modelgateway.dev': '1' };
      await client.ask('POST', path, { body: { metadata: { name: 'few-keys' }, spec: { hard } } });
      let there = true;
      const remove = async () => {
        if (there) await client.ask('DELETE', `${path}/few-keys`);
        there = false;
      };
      scene.onEnd(remove);
      // The controller that counts does not run here.
      await client.ask('PATCH', `${path}/few-keys/status`, { body: { status: { hard, used: hard } } });
      const make = () => served.ask({ key: served.master, path: '/keys', body: {} });
      await scene.recovers('the quota is in force', async () => (await make()).status !== 201, 20_000);
      const { status, message } = await make();
      scene.must(`POST /v1/keys: ${status}`, status >= 400 && status !== 401);
      await remove();
      await scene.recovers('keys are made again', async () => (await make()).status === 201, 60_000);
      scene.saw(`POST /v1/keys meanwhile ${status}: ${message}`);
    },
  },
  {
    id: 'people-delete-sealing-secret',
    group: 'people',
    section: 'Sealed keys',
    promise:
      'the sealing Secret deleted by mistake: the controller creates it again with the same identities, and callers notice nothing',
    needs: ['control plane'],
    async run(scene) {
      const served = await scene.cluster();
      const { stage } = served;
      const secret = () => stage.resources.secret(stage.home, 'model-gateway-sealing');
      let before: Awaited<ReturnType<typeof secret>>;
      await scene.recovers('there is one', async () => {
        before = await secret();
        return before !== undefined;
      });
      await stage.cluster.client.ask(
        'DELETE',
        `/api/v1/namespaces/${stage.home}/secrets/model-gateway-sealing`,
      );
      await scene.recovers(
        'it is there again',
        async () => {
          const now = await secret();
          return now !== undefined && now.metadata.uid !== before?.metadata.uid;
        },
        60_000,
      );
      const now = await secret();
      scene.must('it holds the same identities', now?.text['identities'] === before?.text['identities']);
      await scene.recovers('controller and gateway follow', () => served.follows(), 60_000);
      scene.saw('created again with the same identities');
    },
  },
  {
    id: 'people-delete-all-keys',
    group: 'people',
    section: 'API keys',
    promise:
      'a key deleted and made again with the same hash opens again at once, wherever it was deleted by mistake',
    needs: ['control plane'],
    async run(scene) {
      const served = await scene.cluster();
      const { stage } = served;
      const text = await stage.resources.addKey(stage.home, 'again');
      const opens = (status: number) => async () =>
        (await served.ask({ key: text, path: '/models' })).status === status;
      await scene.recovers('it opens', opens(200));
      const { spec } = await stage.resources.get('APIKey', stage.home, 'again');
      await stage.cluster.client.ask('DELETE', resourcePathOf('APIKey', stage.home, 'again'));
      await scene.recovers('it is refused', opens(401));
      await stage.resources.create('APIKey', stage.home, 'again', spec);
      await scene.recovers('it opens again', opens(200));
      scene.saw('200, 401, 200');
    },
  },
];
