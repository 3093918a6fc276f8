import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Answer } from '../../../src/controller/upstream-node/verdict.ts';
import { upstreamNodeSchema } from '../../../src/resources/upstream-node.ts';
import { failed, invalid, listed, NodeLife, status } from './node-life.ts';

const answers = fc.constantFrom<Answer>(
  listed(),
  listed('a'),
  listed('a', 'b', 'c'),
  { kind: 'models', names: ['a', 'd'], truncated: true },
  status(200),
  status(401),
  status(404),
  status(429),
  status(429, 1_000_000),
  status(503, 30),
  invalid,
  failed('dns'),
  failed('tls'),
  failed('total_timeout'),
);
const specs = fc.record(
  {
    baseURL: fc.constantFrom('http://one/v1', 'http://two/v1'),
    authentication: fc.constantFrom('Bearer', 'XAPIKey'),
    enabled: fc.boolean(),
    manualModels: fc.constantFrom([], ['m'], ['a', 'm']),
    models: fc.constantFrom([], [{ name: 'a', enabled: false }]),
    sync: fc.record({
      intervalSeconds: fc.constantFrom(60, 604_800),
      discovery: fc.constantFrom('Always', 'Never'),
      newModels: fc.constantFrom('Enabled', 'Disabled'),
      suspend: fc.boolean(),
      models: fc.constantFrom({}, { exclude: ['a'] }, { include: ['?b*', 'b'], exclude: ['x'] }),
    }),
    healthCheck: fc.record({
      mode: fc.constantFrom('Models', 'None'),
      intervalSeconds: fc.constantFrom(10, 3_600),
      failureThreshold: fc.constantFrom(1, 3),
    }),
  },
  { requiredKeys: [] },
);
const steps = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('answer' as const), answer: answers }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('edit' as const), spec: specs }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('annotate' as const), value: fc.string({ maxLength: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 7_200_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('credentials' as const),
      credentials: fc.constantFrom('Resolved' as const, 'Refused' as const, 'Pending' as const),
      version: fc.constantFrom('1', '2', ''),
      credential: fc.constantFrom('sk-1', 'sk-2'),
    }),
  },
);
type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;

function carryOut(life: NodeLife, step: Step): void {
  switch (step.do) {
    case 'answer':
      if (life.last?.contact === undefined && life.last?.nextDueMs !== undefined) life.untilDue();
      {
        const kind = life.last?.contact?.kind;
        life.plan(kind === undefined ? undefined : step.answer);
        // A sync that has just ended, however, is never due at once again.
        if (kind === 'sync') expect(life.last?.contact).toBeUndefined();
      }
      return;
    case 'edit':
      life.edit(step.spec);
      return;
    case 'annotate':
      life.annotate(step.value);
      return;
    case 'restart':
      life.restart();
      return;
    case 'wait':
      life.nowMs += step.ms;
      life.plan();
      return;
    case 'credentials':
      life.credentials = step.credentials;
      life.version = step.version;
      life.credential = step.credential;
      life.plan();
      return;
  }
}

function check(life: NodeLife, step: Step, modelsBefore: readonly string[]): void {
  const { last, node, conditions } = life;
  // What is written is what the CRD takes.
  expect(upstreamNodeSchema.safeParse(node).error).toBeUndefined();
  const has = (type: string) => conditions.some((line) => line.startsWith(`${type}=`));
  expect(has('Reconciling') && has('Stalled')).toBe(false);
  expect(conditions.every((line) => !/^(Reconciling|Stalled)=(False|Unknown)/.test(line))).toBe(true);
  // kstatus reads Ready=False without either as "in progress": somebody would wait for ever.
  expect(conditions[0]?.startsWith('Ready=True') ?? true).toBe(!(has('Reconciling') || has('Stalled')));
  const { status: current } = node;
  expect(current?.modelCount ?? 0).toBe(current?.models?.length ?? 0);
  if (life.phase === 'ready') expect(current?.modelCount).toBeGreaterThan(0);
  // Every node that can be contacted will be, and none in a loop without a pause.
  const { discovery, suspend } = node.spec.sync;
  const isWatched = node.spec.healthCheck.mode === 'Models' || (discovery === 'Always' && !suspend);
  if (life.credentials === 'Resolved' && isWatched) {
    expect(last?.contact !== undefined || last?.nextDueMs !== undefined).toBe(true);
  }
  if (last?.nextDueMs !== undefined) expect(last.nextDueMs).toBeGreaterThan(life.nowMs);
  const isFailure = step.do === 'answer' && step.answer.kind !== 'models';
  const hasManual = (node.spec.manualModels ?? []).length > 0;
  if (isFailure && !(step.answer.kind === 'status' && step.answer.status === 404 && hasManual)) {
    expect(life.models.map((name) => name.replace(/[-?].*/, ''))).toEqual(modelsBefore);
  }
}

test('whatever happens to a node, its status is sound and planned again there is nothing to write', () => {
  fc.assert(
    fc.property(specs, fc.array(steps, { maxLength: 25 }), (spec, story) => {
      const life = new NodeLife(spec);
      life.plan();
      for (const step of story) {
        const before = life.models.map((name) => name.replace(/[-?].*/, ''));
        carryOut(life, step);
        check(life, step, before);
        const { writes, last } = life;
        life.plan();
        expect(life.writes).toBe(writes);
        expect(life.last?.contact).toEqual(last?.contact);
      }
    }),
    { numRuns: 400, seed: 20_270_101 },
  );
});
