import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { badManifests } from '../crds/bad-manifests.ts';
import { eventually } from '../support/eventually.ts';
import type { LogLine } from '../support/program.ts';
import { keyWithHash, manifest, manifests, type Standalone, startStandalone } from '../support/standalone.ts';

const key = keyWithHash();
let standalone: Standalone;

const node = (name: string, spec: Record<string, unknown> = {}) =>
  manifest('UpstreamNode', name, {
    baseURL: 'http://127.0.0.1:9/v1',
    healthCheck: { mode: 'None' },
    sync: { discovery: 'Never' },
    manualModels: [`model-of-${name}`],
    ...spec,
  });

/** Each bad manifest as the second document of a file whose first is good. */
const files = Object.fromEntries(
  badManifests.map(({ file }) => {
    const bad = readFileSync(new URL(`../crds/bad/${file}.yaml`, import.meta.url), 'utf8');
    return [`${file}.yaml`, `# One good, one bad.\n${manifests(node(`good-${file}`), bad)}`];
  }),
);

beforeAll(async () => {
  standalone = await startStandalone({
    manifests: { ...files, 'key.yaml': manifest('APIKey', 'k', { hash: key.hash }) },
  });
});
afterAll(() => standalone[Symbol.asyncDispose]());

const told = (file: string, message = 'A manifest is not valid') =>
  standalone.log().filter((line) => line['file'] === file && line.msg === message);

/** A log line as `problemLine` writes the same problem. */
function asLine({ field, found, reason, remedy }: LogLine): string {
  return `${field === '' ? '' : `${field}: `}${found === undefined ? '' : `${found} `}${reason}; ${remedy}`;
}

function isThere(document: unknown, path: readonly (string | number)[]): boolean {
  let value = document;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return false;
    value = (value as Record<string | number, unknown>)[part];
  }
  return true;
}

test.each(badManifests)('$file: file, document, line, field, value, reason and remedy', ({ file, ours }) => {
  const lines = told(`${file}.yaml`);
  expect(lines.map(asLine)).toContain(ours);
  const source = files[`${file}.yaml`]?.split('\n') ?? [];
  const starts = source.indexOf('---') + 1;
  for (const { level, document, line, field, reason, remedy } of lines) {
    expect({ level, document }).toEqual({ level: 'error', document: 2 });
    expect(reason).toEqual(expect.stringMatching(/\S/));
    expect(remedy).toEqual(expect.stringMatching(/\S/));
    // The line is that of the field, or of the nearest thing around it that is there.
    expect(line).toBeGreaterThanOrEqual(starts);
    expect(line).toBeLessThanOrEqual(source.length);
    const parts = [...String(field).matchAll(/([A-Za-z_][\w-]*)|\[(\d+)\]/g)].map(
      ([, name, index]) => name ?? Number(index),
    );
    const last = parts.at(-1);
    if (last === undefined || !isThere(parse(source.slice(starts).join('\n')), parts)) continue;
    expect(source[Number(line) - 1]).toContain(typeof last === 'number' ? '' : `${last}:`);
  }
});

test('nothing bad is in force, and every good document beside it is', async () => {
  const models = await standalone.caller(key.text).models();
  expect(models).toEqual(badManifests.map(({ file }) => `model-of-good-${file}`).sort());
});

/** What a change of one file makes the log say. */
async function complaintsOnWriting(file: string, text: string, count = 1): Promise<readonly LogLine[]> {
  const before = standalone.complaints().length;
  await standalone.folders.write(file, text);
  const news = () =>
    standalone
      .complaints()
      .slice(before)
      .filter((line) => line['file'] === file);
  await eventually(`${file} is told`, () => news().length >= count, 5000, 10);
  return news();
}

const served = async (name: string) =>
  (await standalone.caller(key.text).send('GET', `/models/model-of-${name}`)).status === 200;

describe('what no API server sees', () => {
  test.each<[string, string, number, RegExp]>([
    ['an open bracket', 'kind: [\nspec: 1\n', 2, /missing|stands where nothing may|not YAML|indentation/],
    ['a tab', 'kind: UpstreamNode\nmetadata:\n\tname: x\n', 3, /tab/],
    ['a field twice', 'kind: UpstreamNode\nkind: APIKey\n', 2, /given twice/],
    ['a colon in a value', 'kind: a: b\n', 1, /quotes/],
    ['an open quote', 'kind: "UpstreamNode\n', 2, /missing/],
  ])('%s: file, line, reason and remedy, but nothing of the text', async (what, bad, line, reason) => {
    const name = what.replaceAll(' ', '-');
    const file = `yaml-${name}.yaml`;
    await standalone.folders.write(file, node(name));
    await eventually('the good one applies', () => served(name), 5000, 10);
    const [told] = await complaintsOnWriting(
      file,
      `${node(name, { weight: 9 })}---\n# planted-credential\n${bad}`,
    );
    const offset = node(name, { weight: 9 }).split('\n').length + 1;
    expect(told).toMatchObject({
      msg: 'A manifest file is not YAML',
      remedy: expect.stringContaining('correct it'),
    });
    expect(told?.['reason']).toMatch(reason);
    expect(Math.abs(Number(told?.['line']) - (offset + line))).toBeLessThanOrEqual(1);
    expect(JSON.stringify(told)).not.toContain('planted-credential');
    // The last good version of the whole file stays in force.
    expect(await served(name)).toBe(true);
  });

  test('a name declared twice: both places, and the first stays in force', async () => {
    await standalone.folders.write('a-first.yaml', node('twice'));
    await eventually('the first applies', () => served('twice'), 5000, 10);
    const [line] = await complaintsOnWriting(
      'b-second.yaml',
      node('twice', { manualModels: ['of-the-second'] }),
    );
    expect(line).toMatchObject({
      level: 'error',
      document: 1,
      line: 1,
      object: 'UpstreamNode/default/twice',
      field: 'metadata.name',
      reason: expect.stringContaining('declared already by a-first.yaml, document 1, line 1'),
      remedy: expect.stringContaining('remove one of the two'),
    });
    expect(await served('twice')).toBe(true);
    expect(await standalone.caller(key.text).models()).not.toContain('of-the-second');
  });

  test.each<[string, string, string, RegExp]>([
    [
      'an unknown kind',
      'apiVersion: modelgateway.dev/v1alpha1\nkind: UpstreamNod\nmetadata: {name: x}\n',
      'kind',
      /did you mean UpstreamNode\?/,
    ],
    [
      'another version',
      'apiVersion: modelgateway.dev/v1\nkind: APIKey\nmetadata: {name: x}\n',
      'apiVersion',
      /write modelgateway\.dev\/v1alpha1/,
    ],
    [
      'no kind',
      'apiVersion: modelgateway.dev/v1alpha1\nmetadata: {name: x}\n',
      'kind',
      /write UpstreamNode or APIKey/,
    ],
    [
      'a secret with a bad entry',
      'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {apiKey: "not base64!"}\n',
      'data',
      /./,
    ],
  ])('%s', async (what, text, field, remedy) => {
    const [line] = await complaintsOnWriting(
      `kind-${what.replaceAll(' ', '-')}.yaml`,
      `${node(what.replaceAll(' ', '-'))}---\n${text}`,
    );
    expect(line).toMatchObject({
      level: 'error',
      document: 2,
      line: expect.any(Number),
      reason: expect.any(String),
    });
    expect(line?.['field']).toMatch(new RegExp(`^${field}`));
    expect(line?.['remedy']).toMatch(remedy);
    expect(JSON.stringify(line)).not.toContain('not base64!');
    await eventually('the good document applies', () => served(what.replaceAll(' ', '-')), 5000, 10);
  });

  test('a document that turns bad keeps its last good version, and the others of the file apply', async () => {
    await standalone.folders.write('turns.yaml', manifests(node('stays'), node('other')));
    await eventually('both apply', async () => (await served('stays')) && (await served('other')), 5000, 10);
    const bad = node('stays', { priority: 500, manualModels: ['never'] });
    const [line] = await complaintsOnWriting(
      'turns.yaml',
      manifests(bad, node('other', { manualModels: ['model-of-changed'] })),
    );
    expect(line).toMatchObject({
      document: 1,
      object: 'UpstreamNode/default/stays',
      field: 'spec.priority',
      found: '500',
      reason: 'must be at most 100',
      remedy: 'lower it',
    });
    await eventually('the other changed', () => served('changed'), 5000, 10);
    expect(await served('stays')).toBe(true);
    await standalone.folders.write('turns.yaml', node('stays', { manualModels: ['model-of-mended'] }));
    await eventually('mended', async () => (await served('mended')) && !(await served('stays')), 5000, 10);
  });

  test('an immutable field that changes', async () => {
    const hash = (fill: string) => `sha256:${fill.repeat(64)}`;
    await standalone.folders.write('fixed.yaml', manifest('APIKey', 'fixed', { hash: hash('a') }));
    await delay(400);
    const [line] = await complaintsOnWriting('fixed.yaml', manifest('APIKey', 'fixed', { hash: hash('b') }));
    expect(line).toMatchObject({ level: 'error', document: 1, line: 1, object: 'APIKey/default/fixed' });
    expect(line?.['field']).toMatch(/^spec/);
    expect(line?.['reason']).toMatch(/\S/);
    expect(line?.['remedy']).toMatch(/\S/);
  });
});
