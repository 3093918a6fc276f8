import { afterEach, beforeEach, expect, test } from 'vitest';
import { clusterRecipient } from '../../../../src/cli/edit/cluster-recipient.ts';
import { json, type ScriptedServer, scriptedServer } from '../../kube/scripted-server.ts';

// A cluster that nobody shares; the rest is in test/cluster/declarations.test.ts.
let server: ScriptedServer;
beforeEach(async () => {
  server = await scriptedServer();
});
afterEach(() => server.close());

const publishing = (...recipients: readonly (readonly [namespace: string, recipient: string])[]) =>
  json({
    kind: 'ConfigMapList',
    metadata: { resourceVersion: '1' },
    items: recipients.map(([namespace, recipient]) => ({ metadata: { namespace }, data: { recipient } })),
  });

test('the only recipient of a cluster is used without a flag, by any publisher; if there are two, none is used', async () => {
  const asked = () => clusterRecipient(server.client(), undefined, AbortSignal.timeout(10_000));
  server.otherwise(publishing(['anybody', 'age1only']));
  expect(await asked()).toBe('age1only');
  // The same one twice: sealed to it, nobody else can open it.
  server.otherwise(publishing(['models', 'age1only'], ['copy', 'age1only']));
  expect(await asked()).toBe('age1only');
  server.otherwise(publishing(['models', 'age1real'], ['anybody', 'age1planted']));
  await expect(asked()).rejects.toThrow(/Several namespaces .*anybody, models/);
  server.otherwise(publishing());
  await expect(asked()).rejects.toThrow('--home-namespace');
});
