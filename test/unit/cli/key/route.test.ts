import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { anyKeyOf, refusedKey } from '../../../../src/cli/route/asking-key.ts';
import { declaredView } from '../../../../src/cli/route/declared-view.ts';
import { readCircuits } from '../../../../src/cli/route/readings.ts';
import { mayUse } from '../../../../src/store/tenancy.ts';
import { runHere } from '../../../support/cli-here.ts';
import { manifest, manifests } from '../../../support/standalone.ts';
import { hashOf, makeKey, makeNode } from '../../store/make.ts';

test('circuits as a scrape tells of them: of a node, of a model, half open, with odd names', () => {
  const { state } = readCircuits(
    'g',
    [
      '# TYPE modelgateway_circuit_state gauge',
      'modelgateway_circuit_state{node="a/whole",model="",state="open"} 1',
      'modelgateway_circuit_state{node="a/n",model="m \\"x\\"\\\\y\\n,}",state="open"} 1',
      'modelgateway_circuit_state{node="a/n",model="half",state="half_open"} 1',
      'modelgateway_circuit_state{node="a/n",model="gone",state="open"} 0',
      'modelgateway_circuits_open 3',
    ].join('\n'),
  );
  expect(state('a/whole', 'any')).toBe('open');
  expect(state('a/n', 'm "x"\\y\n,}')).toBe('open');
  expect(state('a/n', 'half')).toBe('probe');
  expect(state('a/n', 'gone')).toBe('closed');
  expect(state('a/n', 'other')).toBe('closed');
});

const condition = (status: 'True' | 'False' | 'Unknown') => ({
  conditions: [
    {
      type: 'CredentialsResolved',
      status,
      reason: 'SecretNotFound',
      message: 'create it',
      lastTransitionTime: '2026-08-01T00:00:00Z',
    },
  ],
});
const withSecret = { apiKeySecretRef: { name: 's' } };
test.each([
  ['no credential is needed', {}, undefined, true, 'Resolved'],
  ['the controller says that it resolves', withSecret, condition('True'), true, 'Resolved'],
  ['it says that it does not', withSecret, condition('False'), true, 'Refused'],
  ['it has not looked yet', withSecret, undefined, true, 'Pending'],
  ['it could not tell', withSecret, condition('Unknown'), true, 'Pending'],
  ['nothing is known of any node', withSecret, undefined, false, 'Resolved'],
])('credentials without a look at Secrets: %s', (_, spec, status, hasStatus, expected) => {
  const view = declaredView([makeNode({ manualModels: ['m'], ...spec }, status)], hasStatus);
  expect(view.served('m')?.candidates.map(({ node }) => node.credentials.state)).toEqual([expected]);
  expect(view.served('other')).toBeUndefined();
  expect([...view.nodes()]).toHaveLength(1);
});

const now = new Date('2026-08-01T12:00:00Z');
const hash = { hash: hashOf(1) };
test.each([
  ['a key in force', hash, undefined, {}, undefined],
  ['disabled', { ...hash, enabled: false }, undefined, {}, /disabled/],
  ['expired', { ...hash, expirationTime: '2026-08-01T12:00:00Z' }, undefined, {}, /expired/],
  ['being deleted', hash, undefined, { deletionTimestamp: '2026-08-01T11:00:00Z' }, /deleted/],
  ['not issued yet', { secretName: 's' }, { hashes: [] }, {}, /issued/],
  [
    'not in force',
    hash,
    {
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'HashConflict',
          message: 'An older object claims the same hash.',
          lastTransitionTime: '2026-08-01T00:00:00Z',
        },
      ],
    },
    {},
    /older object/,
  ],
])('whether callers with a key are let in: %s', (_, spec, status, metadata, expected) => {
  const refused = refusedKey(makeKey(spec, metadata, status), now);
  if (expected === undefined) expect(refused).toBeUndefined();
  else expect(refused).toMatch(expected);
});

test('any key of a namespace sees what a key without wishes sees', () => {
  const key = anyKeyOf('team');
  expect(key.models).toBeUndefined();
  const open = makeNode({ callerNamespaces: { from: 'All' } }, undefined, { namespace: 'home' });
  expect(mayUse(key.resource, open, 'home')).toBe(true);
  expect(mayUse(key.resource, open, 'elsewhere')).toBe(false);
});

test('exit codes and hints of route explain', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'route-'));
  await writeFile(
    join(folder, 'n.yaml'),
    manifests(
      manifest('UpstreamNode', 'n', { baseURL: 'http://127.0.0.1:9/v1', manualModels: ['chat'] }),
      manifest('UpstreamNode', 'off', {
        baseURL: 'http://127.0.0.1:9/v1',
        manualModels: ['idle'],
        enabled: false,
      }),
    ),
  );
  const explain = (model: string) =>
    runHere(['route', 'explain', model, '--manifests', folder, '--admin-url', 'http://127.0.0.1:9']);
  expect((await explain('chat')).code).toBe(0);
  const typo = await explain('chta');
  expect([typo.code, typo.stderr]).toEqual([3, expect.stringContaining('did you mean "chat"?')]);
  expect((await explain('idle')).code).toBe(1);
  await rm(folder, { recursive: true });
});
