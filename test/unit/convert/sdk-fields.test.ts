import { expect, test } from 'vitest';
import { fieldRequests } from '../../support/sdk-types/field-requests.ts';
import { dialects, judge, type Verdict } from '../../support/sdk-types/judge-request.ts';
import { requestFormats } from '../../support/sdk-types/request-formats.ts';
import { readTypeGraph } from '../../support/sdk-types/type-graphs.ts';
import { reasonFor, unneeded } from './sdk-fields/reviewed.ts';

const doubtful: ReadonlySet<Verdict> = new Set(['same', 'changed', 'astray']);

/** What became of each member of each type, over all places, values and dialects. */
class Judgements {
  readonly #format: string;
  readonly #types = new Map<string, Map<string, Set<Verdict>>>();
  readonly #counts = new Map<string, Map<Verdict, number>>();
  readonly doubts = new Set<string>();

  constructor(format: string) {
    this.#format = format;
  }

  add(source: string, member: string, judged: Verdict): void {
    const name = member.replace(/^Beta/, '');
    const doubt = `${this.#format} ${judged} ${name}`;
    if (doubtful.has(judged)) this.doubts.add(doubt);
    const verdict = doubtful.has(judged) && reasonFor(doubt) !== undefined ? 'default' : judged;
    const [, type = '', rest = ''] = /^((?:[A-Z]\w*\.)*[A-Z]\w*)\.(.*)$/.exec(name) ?? [];
    const members = entry(this.#types, type, () => new Map<string, Set<Verdict>>());
    entry(members, rest, () => new Set<Verdict>()).add(verdict);
    const counts = entry(this.#counts, source, () => new Map<Verdict, number>());
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  }

  /** Counts by SDK and version, then each type with its members. */
  text(): string {
    const counts = [...this.#counts].map(([source, each]) => {
      const said = sorted(each).map(([verdict, count]) => `${verdict} ${count}`);
      return `# ${source}: ${said.join(', ')}\n`;
    });
    const types = sorted(this.#types).map(([type, members]) => {
      const said = sorted(members).map(([name, each]) => `  ${name}: ${[...each].toSorted().join(' ')}`);
      return `${type}\n${said.join('\n')}\n`;
    });
    return [...counts, ...types].join('');
  }
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

function sorted<V>(entries: Iterable<readonly [string, V]>): readonly (readonly [string, V])[] {
  return [...entries].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

const judged = requestFormats.map((frame): readonly [string, Judgements] => {
  const judgements = new Judgements(frame.format);
  for (const [name, root] of frame.roots) {
    const graph = readTypeGraph(name);
    for (const request of fieldRequests(graph, root, frame))
      for (const dialect of dialects)
        judgements.add(`${graph.sdk} ${root}`, request.member, judge(frame.format, request, dialect));
  }
  return [frame.format, judgements];
});
const doubts = judged.flatMap(([, { doubts: each }]) => [...each]);

test('no field of a request is silently lost or changed', () => {
  expect(doubts.filter((doubt) => reasonFor(doubt) === undefined)).toEqual([]);
});

test('no reason outlives the field that it is for', () => {
  expect(unneeded(doubts)).toEqual([]);
});

// A field that is not in these files was judged by nobody: `vitest -u` adds it, and the difference is read.
test.each(judged)(
  'what becomes of each field of %s requests is as it was judged',
  async (format, judgements) => {
    await expect(judgements.text()).toMatchFileSnapshot(`sdk-fields/${format}.txt`);
  },
);
