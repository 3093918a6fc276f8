import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { isInContext, parseDockerfile } from '../../../scripts/dockerfile.ts';
import { isAllowedLicence } from '../../../scripts/licence-rules.ts';
import { wantedKubernetes } from '../../support/control-plane/binaries.ts';

const root = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const stages = parseDockerfile(read('Dockerfile'));

describe('Dockerfile', () => {
  test('base images are pinned by digest', () => {
    const names = new Set(stages.map(({ name }) => name));
    const bases = stages.map(({ from }) => from).filter((from) => !names.has(from));
    expect(bases).toHaveLength(2);
    for (const base of bases) expect(base).toMatch(/^[^:@]+:[^@]+@sha256:[0-9a-f]{64}$/);
  });

  test('the last stage runs no command: its base has no shell', () => {
    expect(stages.at(-1)?.instructions.filter(({ name }) => name === 'RUN')).toEqual([]);
  });

  test('it builds on the very Node.js that the tests run on', () => {
    const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: { node: string } };
    expect(stages[0]?.from).toContain(`node:${devDependencies.node}-`);
  });

  test('continuation lines and comments are read', () => {
    expect(parseDockerfile('# x\nFROM a AS b\n# y\nRUN one \\\n    two\nCOPY --from=b /x y\n')).toEqual([
      {
        from: 'a',
        name: 'b',
        instructions: [
          { name: 'RUN', args: 'one two' },
          { name: 'COPY', args: '--from=b /x y' },
        ],
      },
    ]);
  });

  test.each([
    ['src/main.ts', true],
    ['scripts/build.ts', true],
    ['scripts/test.ts', false],
    ['package.json', true],
    ['node_modules/x', false],
    ['.env', false],
    ['test/support/tls/server1.key', false],
    ['model-gateway/data/keys/x', false],
    ['.git/config', false],
  ])('.dockerignore: %s is let in: %s', (path, expected) => {
    expect(isInContext(read('.dockerignore'), path)).toBe(expected);
  });
});

describe('workflows', () => {
  const folder = fileURLToPath(new URL('.github/workflows/', root));
  test.each(readdirSync(folder))(
    '%s pins actions by commit and asks for no right that it does not name',
    (file) => {
      const text = read(`.github/workflows/${file}`);
      const uses = [...text.matchAll(/uses: (.+)/g)].map(([, what]) => what);
      expect(uses.length).toBeGreaterThan(0);
      for (const what of uses) expect(what).toMatch(/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
      const { permissions } = parse(text) as { permissions: unknown };
      expect(permissions).toEqual({ contents: 'read' });
      // What an outsider may choose must not become part of a script.
      for (const [, script = ''] of text.matchAll(/run: (?:\|\n((?: {10,}.*\n?)+))/g)) {
        expect(script).not.toMatch(/\$\{\{/);
      }
    },
  );

  test('advisories are looked for each week, and none is allowed for what is shipped', () => {
    const { on, jobs } = parse(read('.github/workflows/security.yml')) as {
      on: Record<string, unknown>;
      jobs: { advisories: { steps: { run?: string }[] } };
    };
    expect(on).toHaveProperty('schedule');
    expect(jobs.advisories.steps.flatMap(({ run = [] }) => run)).toContain('npm audit --omit=dev');
  });

  test('the matrix has the oldest and the newest that we promise, and all that an API server decides', () => {
    const { jobs } = parse(read('.github/workflows/ci.yml')) as {
      jobs: { matrix: { strategy: { matrix: object }; steps: { run?: string }[] } };
    };
    const { engines, devDependencies } = JSON.parse(read('package.json')) as {
      engines: { node: string };
      devDependencies: { node: string };
    };
    const { kubeVersion } = parse(read('charts/model-gateway/Chart.yaml')) as { kubeVersion: string };
    const minor = (version: string) => /\d+\.\d+/.exec(version)?.[0];
    expect(jobs.matrix.strategy.matrix).toEqual({
      node: [minor(engines.node), devDependencies.node.split('.')[0]],
      kubernetes: [minor(kubeVersion), minor(wantedKubernetes({}))],
    });
    const run = jobs.matrix.steps.flatMap(
      ({ run: script = '' }) => /--project (\w+)/.exec(script)?.[1] ?? [],
    );
    expect(run).toEqual(['unit', 'wire', 'crds', 'cluster', 'chart']);
  });
});

test.each([
  ['MIT', true],
  ['(MIT OR GPL-3.0-only)', true],
  ['MIT AND ISC', true],
  ['MIT AND LGPL-3.0', false],
  ['GPL-2.0-only WITH Classpath-exception-2.0', false],
  ['SEE LICENSE IN LICENSE.txt', false],
  ['', false],
  [undefined, false],
])('the licence %s may be shipped: %s', (licence, expected) => {
  expect(isAllowedLicence(licence)).toBe(expected);
});

test('the version of the API server can be chosen', () => {
  expect(wantedKubernetes({ MODEL_GATEWAY_TEST_KUBERNETES: '1.30' })).toBe('v1.30');
  expect(wantedKubernetes({ MODEL_GATEWAY_TEST_KUBERNETES: 'v1.30.14' })).toBe('v1.30.14');
  expect(wantedKubernetes({})).toMatch(/^v1\.\d+\.\d+$/);
  expect(() => wantedKubernetes({ MODEL_GATEWAY_TEST_KUBERNETES: 'latest' })).toThrow(
    'write a version such as 1.30',
  );
});
