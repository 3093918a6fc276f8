import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { loadKubeconfig } from '../../../src/kube/kubeconfig.ts';

const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function load({ context = {}, cluster = {}, user = {} }: Readonly<Record<string, object>>) {
  const kubeconfig = join(folder, 'kubeconfig');
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', ...context } }],
    clusters: [{ name: 'k', cluster: { server: 'https://127.0.0.1:1', ...cluster } }],
    users: [{ name: 'u', user }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  return loadKubeconfig({ kubeconfig });
}

test('a context without a namespace is of the default one', () => {
  expect(load({}).namespace).toBe('default');
  expect(load({ context: { namespace: null } }).namespace).toBe('default');
});

test.each([
  [{ context: { namespace: 5 } }, 'context.namespace'],
  [{ context: { namespace: { toString: 1 } } }, 'context.namespace'],
  [{ cluster: { 'proxy-url': ['x'] } }, 'cluster.proxyUrl'],
  [{ user: { token: { toString: 1 } } }, 'user.token'],
  [{ user: { exec: { command: { length: 2 } } } }, 'user.exec.command'],
  [{ user: { exec: { command: 'x', env: {} } } }, 'user.exec.env'],
])('%j is refused with the name of its field', (parts, field) => {
  expect(() => load(parts)).toThrow(`kubeconfig field ${field} has the wrong type`);
});

test.each([{ toString: 1 }, 5, null])('a server %j is refused by what reads the file', (server) => {
  expect(() => load({ cluster: { server } })).toThrow(/kubeconfig .* is not valid/);
});
