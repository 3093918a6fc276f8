import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isScalar, parse, parseAllDocuments, visit } from 'yaml';
import { readConfig } from '../../src/config.ts';
import type { JsonSchema } from '../../src/resources/json-schema.ts';
import { chartFolder, objectsIn, type Rendered, render, renderText } from '../support/chart.ts';
import { everythingOn } from '../support/everything-on.ts';
import { type Helm, startHelm } from '../support/helm.ts';
import { renderMany } from '../support/umbrella.ts';

// The chart's values, without a cluster: what they do, and what is refused.
let helm: Helm;
let schema: JsonSchema;
beforeAll(async () => {
  helm = await startHelm();
  schema = JSON.parse(await readFile(join(chartFolder, 'values.schema.json'), 'utf8')) as JsonSchema;
});
afterAll(() => helm?.[Symbol.asyncDispose]());

type Path = readonly string[];

/** Every value that the schema knows, with its own schema. */
function* leaves(of: JsonSchema, path: Path = []): Iterable<[Path, JsonSchema]> {
  const object = nonNull(of);
  if (object.properties === undefined) yield [path, object];
  else for (const [name, member] of Object.entries(object.properties)) yield* leaves(member, [...path, name]);
}

function nonNull(of: JsonSchema): JsonSchema {
  const { anyOf } = of as { anyOf?: JsonSchema[] };
  return anyOf?.find(({ type }) => type !== 'null') ?? of;
}

/** Values that can do nothing while the chart has no alerts or dashboards. */
async function absentFiles(): Promise<string[]> {
  const files = await readdir(join(chartFolder, 'files'), { recursive: true });
  const hasAlerts = files.includes('alerts.yaml');
  const hasDashboards = files.some((file) => file.startsWith('dashboards') && file.endsWith('.json'));
  return [
    ...(hasAlerts ? [] : ['metrics.prometheusRule.']),
    ...(hasDashboards ? [] : ['metrics.dashboards.']),
  ];
}

/** What a value does only where something else is so. */
const contexts: readonly [RegExp, object][] = [
  [/^crds\./, { crds: { enabled: true } }],
  [/^watch\.allNamespaces$/, { watch: { namespaces: [], namespaceSelector: '' } }],
  [
    /^watch\.secretNamespaces$/,
    {
      watch: { namespaces: [], namespaceSelector: '', allNamespaces: true },
      credentials: { sealedOnly: false },
    },
  ],
  [/^gateway\.replicas$/, { gateway: { autoscaling: { enabled: false } } }],
  [
    /^\w+\.topologySpread$/,
    { controller: { topologySpreadConstraints: [] }, gateway: { topologySpreadConstraints: [] } },
  ],
  [
    /^gateway\.autoscaling\.targetCPU$/,
    { gateway: { autoscaling: { targetCPUUtilizationPercentage: null } } },
  ],
  [/^tls\.secretName$/, { tls: { certManager: { enabled: false } } }],
];

/** Values that must look like something. */
const samples: Readonly<Record<string, unknown>> = {
  'image.digest': `sha256:${'1'.repeat(64)}`,
  'watch.namespaces': ['models', 'other'],
  'watch.secretNamespaces': ['other'],
  gatewayURL: 'https://other.example/v1',
  'log.access': 'failed',
  'telemetry.otlpEndpoint': 'http://other.example:4318',
  'telemetry.sampleRatio': 0,
  nodes: [{ name: 'other', spec: { baseURL: 'https://other.example/v1' } }],
  apiKeys: [{ name: 'other', secretName: 'other' }],
  masterKeys: [{ name: 'other', secretName: 'other' }],
  imagePullSecrets: [{ name: 'other' }],
};

function another(path: string, of: JsonSchema, current: unknown): unknown {
  if (path in samples) return samples[path];
  if (of.enum !== undefined) return of.enum.find((each) => each !== current && each !== '');
  if (of.type === 'boolean') return current !== true;
  if (of.type === 'integer')
    return typeof current !== 'number' || current === of.maximum ? of.minimum : current + 1;
  if (of.type === 'array') return [of.items?.type === 'string' ? 'other' : { name: 'other' }];
  if (of.type === 'object') return { other: 'other' };
  return of.pattern === undefined ? 'other' : '77s';
}

function at(values: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, name) => (value as Record<string, unknown> | undefined)?.[name],
    values,
  );
}

function merged(below: unknown, above: unknown): unknown {
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isMap(below) || !isMap(above)) return above;
  const result = { ...below };
  for (const [name, value] of Object.entries(above))
    result[name] = name in below ? merged(below[name], value) : value;
  return result;
}

function set(values: unknown, [name, ...rest]: Path, value: unknown): unknown {
  if (name === undefined) return value;
  const map = (values ?? {}) as Record<string, unknown>;
  return { ...map, [name]: set(map[name], rest, value) };
}

describe('values', () => {
  test('every value of the schema changes what is rendered', async () => {
    const absent = await absentFiles();
    const paths = [...leaves(schema)].filter(
      ([path]) => path[0] !== 'global' && !absent.some((group) => path.join('.').startsWith(group)),
    );
    expect(paths.length).toBeGreaterThan(150);
    const base = merged(everythingOn, { crds: { enabled: false } });
    const pairs = paths.map(([path, of]) => {
      const name = path.join('.');
      const before = contexts
        .filter(([pattern]) => pattern.test(name))
        .reduce<unknown>((values, [, context]) => merged(values, context), base);
      return { name, before, after: set(before, path, another(name, of, at(before, path))) };
    });
    // By their own text: most of them begin at the same values.
    const values = new Map(
      pairs
        .flatMap(({ before, after }) => [before, after])
        .map((each) => [JSON.stringify(each), each as object]),
    );
    const rendered = await renderMany(helm, values);
    const textOf = (each: unknown) => rendered.get(JSON.stringify(each));
    const idle = pairs
      .filter(({ before, after }) => textOf(before) === textOf(after))
      .map(({ name }) => name);
    expect(idle).toEqual([]);
  });

  test('the schema and values.yaml name the same values', async () => {
    const values: unknown = parse(await readFile(join(chartFolder, 'values.yaml'), 'utf8'));
    const missing = [...leaves(schema)]
      .map(([path]) => path)
      // Parts of probes and resources are optional, `global` is Helm's.
      .filter(
        ([first, ...rest]) => first !== 'global' && !rest.some((name) => /Probe$|^resources$/.test(name)),
      )
      .filter((path) => at(values, path) === undefined);
    expect(missing).toEqual([]);
  });

  test.each<[what: string, values: object, message: string]>([
    ['a name that is not known', { gateway: { replica: 1 } }, "additional properties 'replica' not allowed"],
    ['a wrong type', { gateway: { replicas: 'two' } }, 'got string, want integer'],
    ['both ways to watch', { watch: { namespaces: ['a'], allNamespaces: true } }, 'exclude each other'],
    [
      'a selection of all namespaces',
      { watch: { namespaceSelector: 'a=b', allNamespaces: true } },
      'exclude each other',
    ],
    [
      'Secrets without all namespaces',
      { watch: { secretNamespaces: ['a'] } },
      'is for watch.allNamespaces and watch.namespaceSelector only',
    ],
    [
      'a key that nobody would serve',
      { watch: { namespaces: ['a'] }, apiKeys: [{ name: 'k', secretName: 's' }] },
      'add "models" to watch.namespaces',
    ],
    [
      'an account without a name',
      { gateway: { serviceAccount: { create: false } } },
      'give the name of an account in gateway.serviceAccount.name',
    ],
    [
      'one account for both',
      { gateway: { serviceAccount: { name: 'x' } }, controller: { serviceAccount: { name: 'x' } } },
      'need an account each',
    ],
    [
      'a certificate of nobody',
      { tls: { certManager: { enabled: true } } },
      'needs tls.certManager.issuerRef.name',
    ],
    ['a route that joins nothing', { httpRoute: { enabled: true } }, 'needs httpRoute.parentRefs'],
    [
      'a key text',
      { apiKeys: [{ name: 'k', secretName: 's', key: 'mgk_x' }] },
      "additional properties 'key' not allowed",
    ],
    [
      'a hash',
      { masterKeys: [{ name: 'k', hash: `sha256:${'0'.repeat(64)}` }] },
      "missing property 'secretName'",
    ],
    [
      'a misspelt field of a node',
      { nodes: [{ name: 'n', spec: { baseURL: 'https://a.example', wieght: 1 } }] },
      "additional properties 'wieght' not allowed",
    ],
    ['a wildcard image', { image: { digest: 'latest' } }, '/image/digest'],
    [
      'two names for one certificate',
      { tls: { secretName: 'a', certManager: { enabled: true, issuerRef: { name: 'i' } } } },
      'exclude each other',
    ],
  ])('refused: %s', async (_, values, message) => {
    expect((await renderText(helm, { values })).error).toContain(message);
  });
});

describe('rendering', () => {
  test.each([
    ['default values', {}],
    ['everything on', everythingOn],
  ])('%s: the same each time, each object once, and nothing that lint minds', async (_, values) => {
    const [one, two] = await Promise.all([renderText(helm, { values }), renderText(helm, { values })]);
    expect(one).toEqual(two);
    const objects = await render(helm, { values });
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace} ${metadata.name}`);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    const lint = await helm.run(['lint', '--strict', chartFolder, '--values', '-'], JSON.stringify(values));
    expect(lint.stdout + lint.stderr).not.toMatch(/WARNING|ERROR/);
    expect(lint.code).toBe(0);
  });

  test('every object bears the recommended labels, and selectors hold nothing that ever changes', async () => {
    for (const { kind, metadata, spec } of await render(helm)) {
      expect(metadata.labels, `${kind} ${metadata.name}`).toMatchObject({
        'app.kubernetes.io/name': 'model-gateway',
        'app.kubernetes.io/instance': 'mg',
        'app.kubernetes.io/managed-by': 'Helm',
        'app.kubernetes.io/part-of': 'model-gateway',
      });
      if (kind !== 'Deployment') continue;
      const { selector } = spec as { selector: { matchLabels: object } };
      expect(Object.keys(selector.matchLabels).sort()).toEqual(
        ['component', 'instance', 'name'].map((name) => `app.kubernetes.io/${name}`),
      );
    }
  });

  test.each([
    ['default values', {}, { namespaces: ['models'], traffic: { drainSeconds: 240 } }],
    [
      'everything on',
      everythingOn,
      {
        namespaces: ['models', 'team-a', 'team-b'],
        log: { level: 'debug', format: 'text' },
        traffic: {
          drainSeconds: 120,
          endpointLagSeconds: 30,
          balance: 'LeastLoaded',
          limits: { maxBodyBytes: 1_048_576, maxBufferedBytes: 104_857_600, maxAttempts: 5 },
        },
      },
    ],
    ['all namespaces', { watch: { allNamespaces: true } }, { namespaces: 'all' }],
    [
      'namespaces by label',
      { watch: { namespaceSelector: 'team in (a,b),!old' } },
      { namespaces: ['models'], namespaceSelector: 'team in (a,b),!old', secretNamespaces: ['models'] },
    ],
  ])('the program takes the arguments and variables: %s', async (_, values, wanted) => {
    const configs = (await render(helm, { values }))
      .filter(({ kind }) => kind === 'Deployment')
      .map(configOf);
    expect(configs.find((config) => config.command === 'gateway')).toMatchObject(wanted);
    const { namespaces } = wanted;
    expect(configs.find((config) => config.command === 'controller')).toMatchObject({
      ...(namespaces === undefined ? {} : { namespaces }),
      gatewayURL: 'gatewayURL' in values ? values.gatewayURL : 'http://mg-model-gateway.models.svc/v1',
    });
  });

  test('two releases of one name in two namespaces have no Role in common where they serve the same', async () => {
    const watch = { namespaces: ['models', 'other', 'team'] };
    const rolesFrom = async (home: string) => {
      const args = [
        'template',
        'mg',
        chartFolder,
        '-n',
        home,
        '--set',
        `watch.namespaces={${watch.namespaces}}`,
      ];
      return objectsIn(await helm.ok(args))
        .filter(({ kind }) => kind === 'Role' || kind === 'RoleBinding')
        .map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`);
    };
    const [first, second] = [await rolesFrom('models'), await rolesFrom('other')];
    expect(first.length).toBeGreaterThan(10);
    expect(first.filter((each) => second.includes(each))).toEqual([]);
  });

  test('keys and nodes of the values wait for their definitions where the cluster has none, and only there', async () => {
    const kinds = ['UpstreamNode', 'APIKey', 'MasterKey'];
    const ours = async (apiVersions: readonly string[]) =>
      (await render(helm, { values: everythingOn, apiVersions })).filter(({ kind }) => kinds.includes(kind));
    const first = await ours([]);
    expect(first.map(({ metadata }) => metadata.annotations?.['helm.sh/hook'])).toEqual(
      kinds.map(() => 'post-install,post-upgrade'),
    );
    const later = await ours(kinds.map((kind) => `modelgateway.dev/v1alpha1/${kind}`));
    expect(later.map(({ kind }) => kind).sort()).toEqual([...kinds].sort());
    expect(later.flatMap(({ metadata }) => Object.keys(metadata.annotations ?? {}))).not.toContain(
      'helm.sh/hook',
    );
  });

  test("the README's line of Helm makes the node and the key that its others use", async () => {
    const readme = await readFile(join(chartFolder, 'README.md'), 'utf8');
    const lines =
      /## From nothing to a first token\n\n```sh\n([\s\S]+?)\n```/.exec(readme)?.[1]?.split('\n') ?? [];
    expect(lines).toHaveLength(6);
    const [, namespace = '', set = ''] =
      /^helm upgrade --install model-gateway charts\/model-gateway -n (\S+) --take-ownership --wait --set '([^']+)'$/.exec(
        lines[2] ?? '',
      ) ?? [];
    const objects = objectsIn(
      await helm.ok(['template', 'model-gateway', chartFolder, '-n', namespace, '--set', set]),
    );
    const named = (kind: string) =>
      objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
    const [, node] = /upstreamnode\/(\S+)/.exec(lines[3] ?? '') ?? [];
    const [, key] = /apikey\/(\S+)/.exec(lines[3] ?? '') ?? [];
    const [, service] = /service\/(\S+) 8080:80/.exec(lines[4] ?? '') ?? [];
    expect([named('UpstreamNode'), named('APIKey'), named('Service')]).toEqual([[node], [key], [service]]);
    const secretOf = (kind: string) => objects.find((object) => object.kind === kind)?.spec;
    expect(secretOf('APIKey')).toEqual({ secretName: /get secret (\S+)/.exec(lines[5] ?? '')?.[1] });
    expect(secretOf('UpstreamNode')).toMatchObject({
      apiKeySecretRef: { name: /create secret generic (\S+)/.exec(lines[1] ?? '')?.[1] },
    });
  });

  test('names that YAML would take for something else stay names', async () => {
    const values = {
      fullnameOverride: 'on',
      apiKeys: [{ name: 'y', secretName: 'null' }],
      nodes: [{ name: 'n', spec: { baseURL: 'https://a.example' } }],
      watch: { namespaces: ['123', 'true', '1e3'] },
      controller: { priorityClassName: 'off', serviceAccount: { name: 'yes' } },
      gateway: { serviceAccount: { name: '0x1' }, service: { loadBalancerClass: '1' } },
      tls: { secretName: '007' },
      ingress: { enabled: true, className: 'no', hosts: ['1.2'] },
    };
    const { text } = await renderText(helm, { values, namespace: '123' });
    // As Kubernetes reads it.
    for (const document of parseAllDocuments(text, { version: '1.1' })) {
      visit(document, {
        Pair(_, { key, value }) {
          if (
            !isScalar(key) ||
            !isScalar(value) ||
            !/^(name|namespace|.+Name|.+Class)$/.test(String(key.value))
          )
            return;
          expect([key.value, typeof value.value]).toEqual([key.value, 'string']);
        },
      });
    }
    expect(text).toContain('--namespace=1e3');
  });

  test('the chart is of the same version as the program', async () => {
    const chart = parse(await readFile(join(chartFolder, 'Chart.yaml'), 'utf8')) as Record<string, unknown>;
    const program = JSON.parse(await readFile(join(chartFolder, '../../package.json'), 'utf8')) as {
      version: string;
    };
    expect([chart['version'], chart['appVersion']]).toEqual([program.version, program.version]);
  });
});

/** What the program makes of the arguments and variables of a Deployment's container. @throws ConfigError */
function configOf({ spec }: Rendered) {
  const { template } = spec as {
    template: { spec: { containers: { args: string[]; env: { name: string; value?: string }[] }[] } };
  };
  const [container] = template.spec.containers;
  const env = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value ?? name]));
  return readConfig(container?.args ?? [], env);
}
