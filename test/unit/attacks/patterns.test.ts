import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { splitDocuments } from '../../../src/store/folder/split-documents.ts';
import { growthOf, repetitionsOf } from '../../support/regex-growth.ts';
import { regexLiterals } from '../../support/regex-literals.ts';

// A caller, a node or a manifest chooses the texts that patterns are asked of. A pattern that backtracks could hold the
// one thread that serves everybody: 32 MiB of blanks in a tool's result once would have, for days.

interface Bound {
  readonly chars: number;
  readonly because: string;
  readonly ends?: readonly string[];
}

/**
 * Longest text, in characters, that each pattern is asked of whose time may grow faster than its text. A new pattern that
 * turns up here is better rewritten: so that no two of its repetitions can take the same characters, and none follows
 * another search (`trimStart` before `^`, a class without the opening character). A row needs a bound that the code keeps.
 */
const bounded: Readonly<Record<string, Bound>> = {
  '/%.*$/s': { chars: 100, because: 'an IPv6 address' },
  '/\\/+$/': { chars: 2_048, because: 'a base URL' },
  '/,(?![^(]*\\))/': { chars: 4_096, because: "a flag on one's own command line" },
  '/[.-]+$/': { chars: 253, because: 'the name of an object' },
  '/max_tokens.*max_completion_tokens/is': { chars: 2_000, because: 'a message made safe' },
  '/reasoning_content.*(?:must|required|missing|passed back)/is': {
    chars: 2_000,
    because: 'a message made safe',
  },
  '/system (?:message|role|prompt)s?\\b.*(?:first|beginning|start)/is': {
    chars: 2_000,
    because: 'a message made safe',
  },
  '/\\b[a-z][a-z0-9+.-]*:\\/\\/[^\\s"\'<>)\\]}]+|\\b\\d{1,3}(?:\\.\\d{1,3}){3}(?::\\d+)?\\b|\\b(?:localhost|[\\w-]+(?:\\.[\\w-]+)+):\\d{2,5}\\b/gi':
    { chars: 2_000, because: 'a message that was cut before' },
  '/^modelgateway_circuit_state\\{(.*)\\} (\\S+)$/gm': {
    chars: 4_096,
    because: 'a line of a gateway of ours',
  },
  '/([A-Za-z_]\\w*)="((?:[^"\\\\]|\\\\.)*)"/g': { chars: 4_096, because: 'a line of a gateway of ours' },
  '/Invalid value: (?:"(?:[^"\\\\]|\\\\.)*"|\\{.*?\\}|[^\\s:]+): /gs': {
    chars: 16_384,
    because: "what the API server says of one's own edit, on one's own machine",
  },
};

/** Patterns that modules build, known by how they begin. */
const boundedMade = { start: '/^https?:\\/\\/((25[0-5]', chars: 2_048, because: 'a base URL' };

const files = globSync('src/**/*.ts').sort();
const literals = files.flatMap((file) =>
  regexLiterals(readFileSync(file, 'utf8')).map(({ text, regex }) => ({ text, regex })),
);
// Those of that one are credentials, each taken literally.
const builders = files.filter(
  (file) => /new RegExp\(/.test(readFileSync(file, 'utf8')) && !file.endsWith('/mask-credentials.ts'),
);
const made = await patternsMade();
const baseURL = made.map(([text]) => text).find((text) => text.startsWith(boundedMade.start)) ?? '';
const bounds: Readonly<Record<string, Bound>> = { ...bounded, [baseURL]: boundedMade };
const patterns = new Map([...literals.map(({ text, regex }) => [text, regex] as const), ...made]);

/** The patterns that modules build from texts, as they build them. */
async function patternsMade(): Promise<[string, RegExp][]> {
  const found: [string, RegExp][] = [];
  const Plain = RegExp;
  class Recorded extends RegExp {
    constructor(pattern: RegExp | string, flags?: string) {
      super(pattern, flags);
      if (typeof pattern === 'string') found.push([String(this), new Plain(pattern, flags)]);
    }
  }
  vi.stubGlobal('RegExp', Recorded);
  vi.resetModules();
  for (const file of builders) await import(/* @vite-ignore */ resolve(file));
  vi.unstubAllGlobals();
  // Files after this one must not get the modules of this.
  vi.resetModules();
  return found;
}

test('every pattern is found', () => {
  expect(literals.length).toBeGreaterThan(200);
  expect(made.length).toBeGreaterThanOrEqual(5);
  const divisions = regexLiterals(
    ['const a = b / c / d; const e = `$', '{f / g}/h/`; const i = (j) / k; l = /m[/]n/gi;'].join(''),
  );
  expect(divisions.map(({ text }) => text)).toEqual(['/m[/]n/gi']);
});

describe('what the analysis knows', () => {
  test.each<[RegExp, 'polynomial' | 'exponential' | undefined]>([
    [/(a+)+$/, 'exponential'],
    [/^(a|a)*b/, 'exponential'],
    [/^(a|b|ab)*c/, 'exponential'],
    [/^(\w+\s?)*$/, 'exponential'],
    [/^(?:#[^\n]*\r?\n)+[ \t]*\r?\n/, 'exponential'],
    [/\s+$/, 'polynomial'],
    [/^\s*,?\s*$/, 'polynomial'],
    [/a.*b/, 'polynomial'],
    [/^\d+\d+x/, 'polynomial'],
    [/^(?:a{1,3}){4,}b/, 'exponential'],
    [/\s+/, undefined],
    [/^\s+$/, undefined],
    [/^a+b+c$/, undefined],
    [/^[a-z]+(?:-[a-z]+)*$/, undefined],
    [/(?:a|ab)(?:bc|c)x/, undefined],
  ])('%s: %s', (regex, kind) => expect(growthOf(regex)?.kind).toBe(kind));
});

test('every pattern takes time in proportion to its text, except those for short texts', () => {
  const growing = [...patterns].filter(([, regex]) => growthOf(regex) !== undefined);
  expect(growing.map(([text]) => text).filter((text) => !Object.hasOwn(bounds, text))).toEqual([]);
  // Powers of two are harmless in no length.
  expect(growing.filter(([, regex]) => growthOf(regex)?.kind === 'exponential')).toEqual([]);
});

/** Processor time of one search, in milliseconds. */
function cost(regex: RegExp, text: string): number {
  regex.lastIndex = 0;
  const before = process.cpuUsage();
  for (let found = regex.exec(text); found !== null && regex.global; found = regex.exec(text)) {
    if (found[0] === '') regex.lastIndex += 1;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The least of three: what else the machine does only adds. */
function leastCost(regex: RegExp, text: string): number {
  return Math.min(cost(regex, text), cost(regex, text), cost(regex, text));
}

const endings = ['\u0000', '!', '\n', 'a', ''];

/** The hostile texts of about `chars` characters against which a pattern takes longest. */
function hostile(regex: RegExp, chars: number, ends: readonly string[] = endings): string[] {
  const growth = growthOf(regex);
  const pumps = [...(growth === undefined ? [] : [growth]), ...repetitionsOf(regex)];
  return pumps.flatMap(({ prefix, pump }) => {
    const text = prefix + pump.repeat(Math.ceil(chars / Math.max(1, pump.length)));
    return ends.map((end) => text + end);
  });
}

test('measured: four times the text takes about four times the time', () => {
  const short = 10_000;
  const slow: string[] = [];
  for (const [text, regex] of patterns) {
    if (Object.hasOwn(bounds, text)) continue;
    const long = hostile(regex, 4 * short);
    for (const [index, before] of hostile(regex, short).entries()) {
      const ms = cost(regex, long[index] ?? '');
      // Below this there is nothing to compare; the square of 40,000 takes half a second.
      if (ms < 20) continue;
      const ratio = leastCost(regex, long[index] ?? '') / Math.max(1, leastCost(regex, before));
      if (ratio > 10) slow.push(`${text}: ${Math.round(ms)} ms, × ${Math.round(ratio)}`);
    }
  }
  expect(slow).toEqual([]);
});

test.each(Object.entries(bounds))('%s: short at its bound', (text, { chars, ends }) => {
  const regex = patterns.get(text);
  if (regex === undefined) throw new Error('no pattern of the sources is this one: take its row out');
  const costs = hostile(regex, chars, ends).map((each) => leastCost(regex, each));
  expect(Math.max(...costs)).toBeLessThan(500);
});

test('comments with line ends of Windows, which once took a power of two, are still only comments', () => {
  const comments = '# a licence\r\n \t\r\n'.repeat(100);
  const texts = (text: string) => [...splitDocuments(text)].map((document) => document.text);
  expect(texts(`${comments}---\r\n${comments}# no line end`)).toEqual([]);
  expect(texts(`${comments}kind: APIKey\r\n`)).toHaveLength(1);
  expect(texts('---\r\n# a\rkind: still the comment')).toEqual([]);
  expect(texts('---\r \n')).toHaveLength(1);
});
