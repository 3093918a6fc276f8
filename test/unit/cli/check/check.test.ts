import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Finding, keyTextOffsets } from '../../../../src/cli/check/finding.ts';
import { FolderReading } from '../../../../src/cli/check/folder.ts';
import { judge, sorted } from '../../../../src/cli/check/judge.ts';
import { type RuleId, rules } from '../../../../src/cli/check/rules.ts';
import { sarif } from '../../../../src/cli/check/sarif.ts';
import { generateKeyText, hashKeyText } from '../../../../src/resources/key-text.ts';
import {
  generateSealingIdentity,
  sealApiKey,
  sealingRecipient,
} from '../../../../src/resources/sealed-key.ts';

const now = new Date('2026-08-01T12:00:00Z');
const header = 'apiVersion: modelgateway.dev/v1alpha1';
const keyText = generateKeyText('api', () => Buffer.alloc(32, 7));
const identity = await generateSealingIdentity();
const sealed = await sealApiKey({
  recipient: await sealingRecipient(identity),
  namespace: 'default',
  name: 'n',
  baseURL: 'https://n.example/v1',
  apiKey: 'secret',
});

function check(files: Readonly<Record<string, string>>, classes: readonly string[] = ['canary']): Finding[] {
  const reading = new FolderReading();
  const findings = Object.entries(files).flatMap(([file, text]) => reading.add(file, text));
  return sorted([...findings, ...judge(reading.folder(), { homeNamespace: 'default', classes, now })]);
}

/** A node with the fields of `spec` below its base URL, which stands on line 6. */
function node(spec = '', metadata = '{ name: n }'): string {
  return `${header}\nkind: UpstreamNode\nmetadata: ${metadata}\nspec:\n  # a node\n  baseURL: https://n.example/v1\n${spec}`;
}
const never = '  sync: { discovery: Never }\n';
function key(spec: string, metadata = '{ name: k }', kind = 'APIKey'): string {
  return `${header}\nkind: ${kind}\nmetadata: ${metadata}\nspec:\n${spec}`;
}
const secret = (name: string, entry: string): string =>
  `apiVersion: v1\nkind: Secret\nmetadata: { name: ${name} }\nstringData: { ${entry}: x }\n`;
const all = (...documents: string[]): string => documents.join('---\n');
const indented = (text: string): string => text.trimEnd().replaceAll(/^/gm, '    ');

/** What stands in the folder, and each finding as `rule line:column field message`. */
const cases: [string, string | Record<string, string>, RegExp[]][] = [
  ['nothing to find', all(node(`  encryptedAPIKey: |\n${indented(sealed)}\n`), key('  secretName: s\n')), []],
  [
    'the schema and its rules, several at once, and the place of each',
    node('  priority: 101\n  nativeFormats: [Chat]\n  apiKeySecretRef: { nam: s }\n'),
    [
      /^schema 7:3 spec.priority 101 must be at most 100$/,
      /^schema 8:19 spec.nativeFormats\[0\] /,
      /^schema 9:3 .*name/,
      /^schema 9:22 .*nam /,
    ],
  ],
  [
    'a CEL rule',
    key('  secretName: s\n  hint: x\n'),
    [/^schema 6:3 spec.hint must not be set without hash$/],
  ],
  ['a mistyped kind', `${header}\nkind: APIKeys\nmetadata: { name: k }\n`, [/^schema 2:1 kind .*"APIKeys"/]],
  [
    'a mistyped group, and an old version',
    all(
      node().replace('modelgateway.dev', 'modelgatway.dev'),
      node('', '{ name: m }').replace('v1alpha1', 'v1'),
    ),
    [/^schema 1:1 apiVersion /, /^schema 8:1 apiVersion /],
  ],
  [
    'what is for others, mistyped or not',
    {
      'a.yaml': all(
        'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n',
        'apiVersion: other.io/v1\nkind: APIKey\n',
      ),
      'values.yaml': 'replicas: 2\nspec: {}\n',
      'list.yaml': '- a\n- b\n',
      'package.json': '{"name": "x", "kind": "module"}',
      'chart/x.yaml': `kind: {{ .Values.kind }}\n`,
    },
    [],
  ],
  [
    'a template of ours',
    node().replace('n.example', '{{ .Values.host }}'),
    [/^not-judged 1:1 {2}.*template/],
  ],
  [
    'a kustomization',
    { 'kustomization.yaml': 'resources: [a.yaml]\n' },
    [/^not-judged 1:1 {2}kustomizations are not followed/],
  ],
  ['no YAML, told without quoting it', 'a: "b\nc: d', [/^yaml \d:1 {2}(?!.*[bd]"?$)/]],
  [
    'one object of a List',
    'apiVersion: v1\nkind: List\nitems:\n' +
      `${node('  weight: 0\n').replaceAll(/^/gm, '    ').replace('    api', '  - api').trimEnd()}\n`,
    [/^schema 10:7 spec.weight /],
  ],
  [
    'a file that only the parser can cut',
    `%YAML 1.2\n---\n${node('  weight: 0\n')}...\n---\n${node('  weight: 0\n', '{ name: m }')}`,
    [/^schema 9:3 spec.weight /, /^schema 18:3 spec.weight /],
  ],
  [
    'one name twice, in two files',
    { 'a.yaml': node(), 'b.yaml': node() },
    [/^duplicate-name 3:13 metadata.name UpstreamNode\/default\/n is declared in a.yaml:1 too$/],
  ],
  [
    'one hash twice; a name that is declared twice is told once',
    all(
      key(`  hash: ${hashKeyText('x')}\n`),
      key(`  hash: ${hashKeyText('x')}\n`, '{ name: m }', 'MasterKey'),
      key(`  hash: ${hashKeyText('x')}\n`),
    ),
    [/^hash-conflict 11:3 spec.hash APIKey\/default\/k claims/, /^duplicate-name 15:13 /],
  ],
  [
    'a sealed key that was cut',
    node(`  encryptedAPIKey: |\n${indented(sealed.split('\n').slice(0, 3).join('\n'))}\n`),
    [/^sealed-key 7:3 spec.encryptedAPIKey is damaged/],
  ],
  [
    'Secrets: not there, without the entry, and in clear; one that something makes',
    all(
      node(
        '  apiKeySecretRef: { name: a }\n  headers:\n    - name: x-team\n      secretRef: { name: b, key: c }\n',
      ),
      secret('b', 'd'),
      node('  apiKeySecretRef: { name: e }\n', '{ name: m }'),
      'apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: { name: z }\nspec: { target: { name: e } }\n',
    ),
    [
      /^secret-not-in-folder 7:22 spec.apiKeySecretRef.name the Secret "default\/a"/,
      /^secret-entry-missing 10:29 spec.headers\[0\].secretRef.key the Secret "default\/b" has no entry "c"/,
      /^secret-in-clear 15:1 stringData /,
    ],
  ],
  ['a Secret that SOPS encrypts', `${secret('s', 'a')}sops: { version: "3" }\n`, []],
  [
    'keys in clear: in a field, in a comment, in foreign kinds; placeholders are none',
    all(
      node(
        `  displayName: ${keyText}\n  # sk-proj-9aF3kLmN0pQrStUvWxYz\n  tls: { serverName: sk-your-openai-api-key-here }\n`,
      ),
      'apiVersion: v1\nkind: ConfigMap\ndata:\n  list: [a, {k: AGE-SECRET-KEY-1QL3Z7HJY54PW3HYWW5AYYFG7ZQGVC7W3J2ELW8ZMRJ2KG5SFN9AQMCAC8P}]\n',
    ),
    [/^key-text 7:16 spec.displayName /, /^key-text 8:5 {2}/, /^key-text 14:17 data.list\[1\].k /],
  ],
  [
    'aliases that a real name shadows; an alias of two models is none of them',
    node(
      `  manualModels: [a, b]\n${never}  models:\n    - { name: b, aliases: [a, free, both] }\n    - { name: a, aliases: [both] }\n`,
    ),
    [/^alias-conflict 10:\d+ spec.models\[0\].aliases\[0\] .*"a" of "b".*the model "a"/],
  ],
  [
    'models that nobody serves',
    node(`${never}  models: [{ name: a }]\n`),
    [/^model-unserved 7:11 spec.sync.discovery /, /^model-unserved 8:\d+ spec.models\[0\].name .*"a"/],
  ],
  [
    'an allowlist, where every node that the key may use has a manual list alone',
    all(node(`  manualModels: [gpt-4o]\n${never}`), key('  secretName: s\n  models: [gpt-4o, gtp-4o]\n')),
    [/^allowlist-unknown-model 15:20 spec.models\[1\] no node that the key may use serves "gtp-4o"$/],
  ],
  [
    'an allowlist, where models are discovered: one note for all of it',
    all(node('  manualModels: [a]\n'), key('  secretName: s\n  models: [a, b, c]\n')),
    [/^allowlist-unjudged 14:15 spec.models\[1\] whether "b", "c" exists/],
  ],
  [
    'tenancy: a key that reaches no node, namespaces that nobody uses, one that does not agree',
    all(
      node('  callerNamespaces: { from: Names, names: [team-b, team-x] }\n'),
      key('  secretName: s\n', '{ name: k, namespace: team-a }'),
      key('  secretName: s\n  nodeNamespaces: [team-c, nowhere]\n', '{ name: k, namespace: team-b }'),
      node('', '{ name: n, namespace: team-c }'),
    ),
    [
      /^caller-namespace-unused 7:52 spec.callerNamespaces.names\[1\] .*"team-x"/,
      /^key-without-nodes 11:13 metadata.name .*"team-a"/,
      /^node-namespace-unused 20:20 .*no node of namespace "team-c" admits keys of namespace "team-b"/,
      /^node-namespace-unused 20:28 .*no node of the folder is in namespace "nowhere"/,
    ],
  ],
  ['expired', key('  secretName: s\n  expirationTime: 2026-07-31T00:00:00Z\n'), [/^key-expired 6:3 /]],
  [
    'a class that nothing serves',
    all(
      node('', '{ name: n, labels: { modelgateway.dev/class: canary } }'),
      key('  secretName: s\n', '{ name: k, labels: { modelgateway.dev/class: canery } }'),
    ),
    [
      /^class-unserved 10:22 metadata.labels nothing serves this object: no --class names "canery" \(canary\)$/,
    ],
  ],
  [
    'copied out of a cluster',
    `${node('', '{ name: n, uid: abc, resourceVersion: "5" }')}status: { phase: ready }\n`,
    [
      /^server-field 3:22 metadata.uid /,
      /^server-field 3:32 metadata.resourceVersion /,
      /^server-field 7:1 status /,
    ],
  ],
];
test.each(cases)('%s', (_, files, expected) => {
  const findings = check(typeof files === 'string' ? { 'a.yaml': files } : files);
  const told = findings.map(
    ({ rule, line, column, field, message }) => `${rule} ${line}:${column} ${field} ${message}`,
  );
  expect(told).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
  for (const { level, rule } of findings) expect(level).toBe(rules[rule].level);
});

test('without --class a class is not judged', () => {
  const text = node('', '{ name: n, labels: { modelgateway.dev/class: canary } }');
  expect(check({ 'a.yaml': text }, []).map(({ rule, level }) => `${rule} ${level}`)).toEqual([
    'class-unjudged note',
  ]);
});

test('every rule has a case, but for files that cannot be read and classes that are not known', () => {
  const told = new Set(
    cases.flatMap(([, , expected]) => expected.map(({ source }) => /^\^([a-z-]+)/.exec(source)?.[1])),
  );
  const missing = (Object.keys(rules) as RuleId[]).filter((rule) => !told.has(rule));
  expect(missing).toEqual(['unreadable-file', 'class-unjudged']);
});

test('whatever a file holds, it is read without a fault and every finding has a place in it', () => {
  const whole = all(
    node(`  encryptedAPIKey: |\n${indented(sealed)}\n  models: [{ name: b, aliases: [a] }]\n`),
    key(`  hash: ${hashKeyText('x')}\n  models: [a, "b"]\n`),
    secret('s', 'a'),
    `apiVersion: v1\nkind: List\nitems: [{ kind: Secret, metadata: null }, 5, { <<: &a { kind: APIKey }, x: *a }]\n`,
    `# ${keyText}\n`,
  );
  const junk = fc.constantFrom(
    '\n',
    '\r\n',
    '---\n',
    '...\n',
    '%YAML 1.2\n',
    ': ',
    '- ',
    '{',
    ']',
    '"',
    "'",
    '|',
    '&a ',
    '*a',
    '!!js ',
    '\t',
    '\ufeff',
    '\u0000',
    '{{ x }}',
    '9'.repeat(30),
    keyText,
  );
  const cut = fc.record({
    from: fc.nat(whole.length),
    length: fc.nat(40),
    put: fc.oneof(junk, fc.string({ maxLength: 8 })),
  });
  fc.assert(
    fc.property(fc.array(cut, { minLength: 1, maxLength: 5 }), (cuts) => {
      const text = cuts.reduce(
        (before, { from, length, put }) => before.slice(0, from) + put + before.slice(from + length),
        whole,
      );
      const count = text.split('\n').length;
      for (const { line, column, message } of check({ 'a.yaml': text })) {
        expect([line >= 1 && line <= count, column >= 1, message.includes(keyText)]).toEqual([
          true,
          true,
          false,
        ]);
      }
    }),
    {
      numRuns: 200,
      seed: 11,
      examples: [
        [[{ from: 694, length: 16, put: keyText }]],
        [
          [
            { from: 965, length: 0, put: '|' },
            { from: 0, length: 0, put: '\n' },
          ],
        ],
      ],
    },
  );
});

test('the page of the commands lists every rule', async () => {
  const page = await readFile(new URL('../../../../docs/commands.md', import.meta.url), 'utf8');
  const listed = page.match(/^\| `[a-z-]+` \| (?:error|warning|note) \| .*$/gm);
  expect(listed).toEqual(
    Object.entries(rules).map(([id, { level, summary }]) => `| \`${id}\` | ${level} | ${summary} |`),
  );
});

test('no finding shows a key, wherever it was pasted', () => {
  const findings = check({
    'a.yaml': all(
      node(`  apiKey: ${keyText}\n  authentication: ${keyText}\n  nativeFormats: ["${keyText}"]\n`),
      key(`  hash: ${keyText}\n  models: ["${keyText}"]\n  expirationTime: ${keyText}\n`),
      `${header}\nkind: ${keyText}\nmetadata: { name: x }\n`,
      secret('s', 'a').replace(' x ', ` ${keyText} `),
    ),
  });
  expect(findings.length).toBeGreaterThan(10);
  expect(JSON.stringify([findings, sarif(findings, '1.0.0')]).includes(keyText.slice(0, 20))).toBe(false);
});

test.each([
  ['an OpenAI key', 'sk-proj-9aF3kLmN0pQrStUvWxYz', true],
  ['an Anthropic key', 'sk-ant-api03-Zm9vYmFy0123-_456789AbCdEf', true],
  ['ours', keyText, true],
  ['a placeholder', 'sk-xxxxxxxxxxxxxxxxxxxxxxxx', false],
  ['words', 'sk-your-openai-api-key-goes-here', false],
  ['the end of a longer word', 'risk-9aF3kLmN0pQrStUvWxYz1234', false],
  ['a hint', 'mgk_...x7Qa', false],
])('looks like a key: %s', (_, text, expected) => {
  expect(keyTextOffsets(`a: ${text}`)).toEqual(expected ? [3] : []);
});

/** What code scanning needs of SARIF 2.1.0; strict, so that nothing goes in that it does not know. */
const sarifSchema = z.strictObject({
  $schema: z.url(),
  version: z.literal('2.1.0'),
  runs: z
    .array(
      z.strictObject({
        tool: z.strictObject({
          driver: z.strictObject({
            name: z.string().min(1),
            semanticVersion: z.string().regex(/^\d+\.\d+\.\d+/),
            rules: z.array(
              z.strictObject({
                id: z.string().max(255),
                name: z.string().max(255),
                shortDescription: z.strictObject({ text: z.string().min(1).max(1024) }),
                fullDescription: z.strictObject({ text: z.string().min(1).max(1024) }),
                help: z.strictObject({ text: z.string().min(1) }),
                defaultConfiguration: z.strictObject({ level: z.enum(['none', 'note', 'warning', 'error']) }),
                properties: z.strictObject({ tags: z.array(z.string()).max(10) }),
              }),
            ),
          }),
        }),
        columnKind: z.enum(['utf16CodeUnits', 'unicodeCodePoints']),
        results: z
          .array(
            z.strictObject({
              ruleId: z.string(),
              ruleIndex: z.int().min(0),
              level: z.enum(['none', 'note', 'warning', 'error']),
              message: z.strictObject({ text: z.string().min(1) }),
              locations: z.tuple([
                z.strictObject({
                  physicalLocation: z.strictObject({
                    artifactLocation: z.union([
                      z.strictObject({
                        uri: z.string().regex(/^[^/:\\ ][^:\\ ]*$/),
                        uriBaseId: z.literal('%SRCROOT%'),
                      }),
                      z.strictObject({ uri: z.string().startsWith('file:///') }),
                    ]),
                    region: z.strictObject({ startLine: z.int().min(1), startColumn: z.int().min(1) }),
                  }),
                  logicalLocations: z
                    .array(z.strictObject({ fullyQualifiedName: z.string(), kind: z.string() }))
                    .optional(),
                }),
              ]),
              partialFingerprints: z.record(z.string(), z.string()),
            }),
          )
          .max(25_000),
      }),
    )
    .length(1),
});

test('SARIF: its shape, addresses, and fingerprints that stay when the file grows above', () => {
  const text = node('  priority: 101\n');
  const before = sarifSchema.parse(
    sarif(
      check({ 'a folder/a.yaml': text, '/elsewhere/b.yaml': node('  weight: 0\n', '{ name: m }') }),
      '1.0.0',
    ),
  ).runs[0];
  const after = sarifSchema.parse(sarif(check({ 'a folder/a.yaml': `# more\n${text}` }), '1.0.0')).runs[0];
  const results = before?.results ?? [];
  expect(
    results.map(({ locations: [{ physicalLocation }] }) => physicalLocation.artifactLocation.uri),
  ).toEqual(['file:///elsewhere/b.yaml', 'a%20folder/a.yaml']);
  for (const { ruleId, ruleIndex } of results) expect(before?.tool.driver.rules[ruleIndex]?.id).toBe(ruleId);
  const fingerprints = results.map(({ partialFingerprints }) => JSON.stringify(partialFingerprints));
  expect(new Set(fingerprints).size).toBe(2);
  expect(fingerprints).toContain(JSON.stringify(after?.results[0]?.partialFingerprints));
});
