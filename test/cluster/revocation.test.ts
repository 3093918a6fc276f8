import { afterAll, beforeAll, expect, test } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import type { Caller } from '../support/caller.ts';
import { runHere } from '../support/cli-here.ts';
import { eventually } from '../support/eventually.ts';
import { long } from '../support/long.ts';
import { measured } from '../support/measured.ts';
import { condition } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

// The proof that a key is dead, with three gateways and callers that never stop.
const revocations = long ? 1_000 : 52;
let stage: Stage;
beforeAll(async () => {
  stage = await startStage({
    namespaces: ['revoked'],
    roles: ['controller', 'gateway', 'gateway', 'gateway'],
  });
  await stage.addNode('node', { upstream: { models: ['m'] } });
  await stage.until('ready', 'UpstreamNode', 'node', (node) => node.status?.phase === 'ready');
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** Counts the gateways of this test alone: others of the same API server serve every namespace, and end without a last report. */
const run = (...args: string[]) =>
  runHere([...args, '--kubeconfig', stage.cluster.address.kubeconfig, '-n', stage.home], {
    env: { MODEL_GATEWAY_HOME_NAMESPACE: stage.home },
  });

/** Callers of one key, one at each gateway, that ask again as soon as they are answered. */
function hammer(callers: readonly Caller[]) {
  const opened: number[] = [];
  let stopped = false;
  const loops = callers.map(async (caller) => {
    while (!stopped) {
      const began = performance.now();
      if ((await caller.chat('m')).status === 200) opened.push(began);
    }
  });
  return {
    /** How many requests that began after a time were answered with 200. */
    openedAfter: (ms: number) => opened.filter((began) => began > ms).length,
    count: () => opened.length,
    async stop() {
      stopped = true;
      await Promise.all(loops);
    },
  };
}

async function openKey(name: string): Promise<Caller[]> {
  const text = await stage.resources.addKey(stage.home, name);
  const callers = stage.gateways.slice(0, 3).map((_gateway, index) => stage.caller(text, index));
  for (const caller of callers)
    await eventually('it opens', async () => (await caller.chat('m')).status === 200);
  return callers;
}

const medianOf = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

test(
  'after --wait returned no gateway accepts the key, neither deleted nor disabled, and so after InForce',
  async () => {
    const waits: number[] = [];
    const proofs: number[] = [];
    let late = 0;
    for (let index = 0; index < revocations; index += 1) {
      const name = `key-${index}`;
      const callers = await openKey(name);
      const all = hammer(callers);
      await eventually('callers are served', () => all.count() > 3);
      const began = performance.now();
      let proven: number;
      if (index % 3 === 2) {
        // What a person or program without our CLI does.
        const changed = await stage.resources.patch('APIKey', stage.home, name, { spec: { enabled: false } });
        await stage.until('in force', 'APIKey', name, (key) => {
          const found = key.status?.conditions?.find(({ type }) => type === 'InForce');
          const { observedGeneration } = (found ?? {}) as { observedGeneration?: number };
          return found?.status === 'True' && observedGeneration === changed.metadata.generation;
        });
        proven = performance.now();
        proofs.push(proven - began);
      } else {
        const args = index % 3 === 0 ? ['revoke', name, '--yes'] : ['disable', name];
        const { code, stdout, stderr } = await run('key', ...args, '--wait');
        proven = performance.now();
        expect(code, stderr).toBe(0);
        expect(stdout).toContain('3/3 gateways have applied it');
        waits.push(proven - began);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
      await all.stop();
      late += all.openedAfter(proven);
      for (const caller of callers) expect((await caller.chat('m')).status).toBe(401);
    }
    expect(late).toBe(0);
    measured(`--wait, median of ${waits.length}`, medianOf(waits), 2_000);
    measured(`InForce True, median of ${proofs.length}`, medianOf(proofs), 2_000);
  },
  revocations * 30_000,
);

test('a gateway that is frozen is named, by the command and by the condition, and nothing is claimed of it', async () => {
  const frozen = await stage.start('gateway', { podName: 'frozen' });
  await frozen.whenReady();
  await openKey('deleted');
  await openKey('kept');
  await stage.until('in force', 'APIKey', 'kept', (key) => condition(key, 'InForce') === 'True Applied');
  frozen.signal('SIGSTOP');
  try {
    const pending = await run('key', 'revoke', 'deleted', '--yes', '--wait', '--timeout', '3s');
    expect(pending.code).toBe(exitCodes.timeout);
    expect(pending.stderr).toMatch(/3\/4 gateways have applied it; not applied by: frozen\./);
    const mute = await run('key', 'disable', 'kept', '--wait', '--timeout', '50s');
    expect(mute.code).toBe(exitCodes.timeout);
    expect(mute.stderr).toMatch(/3\/4 gateways have applied it; no report for 45 s: frozen\./);
    await stage.until(
      'unknown',
      'APIKey',
      'kept',
      (key) => condition(key, 'InForce') === 'Unknown GatewaySilent',
      { timeoutMs: 90_000 },
    );
  } finally {
    frozen.signal('SIGCONT');
  }
  await stage.until('in force', 'APIKey', 'kept', (key) => condition(key, 'InForce') === 'True Applied', {
    timeoutMs: 60_000,
  });
  await frozen.stop();
}, 240_000);

test('what cannot be proven is said, and the exit code is not zero', async () => {
  await openKey('nowhere');
  const at = ['--kubeconfig', stage.cluster.address.kubeconfig, '-n', stage.home];
  const { code, stderr } = await runHere(['key', 'disable', 'nowhere', '--wait', ...at], {
    env: { MODEL_GATEWAY_HOME_NAMESPACE: 'default' },
  });
  expect(code).toBe(exitCodes.failed);
  expect(stderr).toContain('no gateway that serves namespace');
  const dry = await run('key', 'revoke', 'nowhere', '--dry-run', '--wait');
  expect(dry.code).toBe(0);
  const folder = await runHere(['key', 'disable', 'x', '--wait', '--manifests', '/tmp']);
  expect(folder.code).toBe(exitCodes.usage);
  expect(folder.stderr).toContain('--wait is for a cluster');
});
