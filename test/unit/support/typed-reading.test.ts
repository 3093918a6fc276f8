import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { untypedReadings } from '../../../scripts/typed-reading.ts';

const folder = mkdtempSync(join(tmpdir(), 'typed-reading-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const wrong = [
  // One event of a node ended the gateway by these.
  `Number(error['code'])`,
  `[error['code'], error['type']].map(String)`,
  `error['code'] === null ? null : String(error['code'])`,
  `word in statusOf`,
  `statusOf[word]`,
  `statusOf[word.toLowerCase()] ?? 502`,
  ...[`\`\${error['code']}\``, `'' + String(unknown)`, `parseInt(any)`, `BigInt(any)`, `-any`, `any + 1`],
  ...[`Object.values(error).join(', ')`, `list.sort()`, `list.toSorted()`, `list.map(Number)`],
  `JSON.parse(word) as { readonly code: string }`,
  `(JSON.parse(word) as { readonly code: string }).code`,
];
const right = [
  ...[
    'Number(word)',
    'String(port)',
    `\`\${word}:\${port}\``,
    'word + port',
    `words.join(', ')`,
    'words.sort()',
  ],
  ...['words.map(Number)', 'list.sort(() => 0)', `'code' in error`, 'statuses.get(word)', `words[0]`],
  `typeof error['code'] === 'number' ? String(error['code']) : ''`,
  `(Object.hasOwn(statusOf, word) ? statusOf[word] : 502)`,
  `error[word]`,
  ...[`JSON.parse(word) as unknown`, `JSON.parse(word) as { readonly code?: unknown }`],
];

const lines = [...wrong, ...right];
// Each in a function of its own: a question in one is no guard in another.
const source = `declare const error: Readonly<Record<string, unknown>>;
declare const unknown: unknown, any: any, port: number;
declare const word: string, words: string[], list: unknown[];
declare const statusOf: Readonly<Record<string, number>>;
declare const statuses: ReadonlyMap<string, number>;
export const all = [
${lines.map((line) => `  () => ${line},`).join('\n')}
];
`;
const firstLine = source.split('\n').indexOf('export const all = [') + 2;
writeFileSync(join(folder, 'source.ts'), source);
const options = { strict: true, target: 'es2024', module: 'nodenext', types: [], noEmit: true };
const tsconfig = join(folder, 'tsconfig.json');
writeFileSync(tsconfig, JSON.stringify({ compilerOptions: options, include: ['*.ts'] }));
const found = untypedReadings(tsconfig, folder).map((text) => Number(/:(\d+) /.exec(text)?.[1]) - firstLine);

test.each(wrong.map((line, index) => [line, index] as const))('%s is found', (_, index) => {
  expect(found).toContain(index);
});

test.each(right.map((line, index) => [line, wrong.length + index] as const))('%s is right', (_, index) => {
  expect(found).not.toContain(index);
});
