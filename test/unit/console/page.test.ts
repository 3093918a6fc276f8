import { describe, expect, test } from 'vitest';
import { countOf } from '../../../src/console/page/count.ts';
import { lineDiff } from '../../../src/console/page/line-diff.ts';
import { type FieldSchema, specEdits } from '../../../src/console/page/spec-edits.ts';
import { createEventReader, tryFormats } from '../../../src/console/page/try-formats.ts';

describe('lineDiff', () => {
  const told = (before: string, after: string): string =>
    lineDiff(before, after)
      .map(({ kind, text }) => `${{ same: ' ', old: '-', new: '+' }[kind]}${text}`)
      .join('|');
  test.for([
    ['nothing', 'a\nb', 'a\nb', ' a| b'],
    ['one line', 'a\nb\nc', 'a\nx\nc', ' a|-b|+x| c'],
    ['added at the end', 'a', 'a\nb', ' a|+b'],
    ['removed at the start', 'a\nb', 'b', '-a| b'],
    ['two places', 'a\nb\nc\nd', 'x\nb\nc\ny', '-a|+x| b| c|-d|+y'],
    ['a line twice', 'a\na', 'a', ' a|-a'],
    ['from nothing', '', 'a', '-|+a'],
  ] as const)('%s', ([, before, after, expected]) => {
    expect(told(before, after)).toBe(expected);
  });
  test('texts that have too little in common are shown one after the other, soon', () => {
    const [before, after] = ['a', 'b'].map((of) =>
      Array.from({ length: 5_000 }, (_, at) => of + at).join('\n'),
    );
    expect(lineDiff(before ?? '', after ?? '')).toHaveLength(10_000);
  });
});

describe('specEdits', () => {
  const schema: FieldSchema = {
    properties: {
      weight: { type: 'integer' },
      names: { type: 'array', items: { type: 'string' } },
      timeouts: { properties: { connectSeconds: { type: 'integer' }, idleSeconds: { type: 'integer' } } },
      models: {
        type: 'array',
        'x-kubernetes-list-map-keys': ['name'],
        items: { properties: { name: { type: 'string' }, aliases: { type: 'array' } } },
      },
    },
  };
  const models = { path: ['spec', 'models', { name: 'a' }] };
  test.for([
    ['no change', { weight: 1 }, { weight: 1 }, []],
    [
      'a changed field alone',
      { weight: 1, names: ['x'] },
      { weight: 2, names: ['x'] },
      [{ path: ['spec', 'weight'], value: 2 }],
    ],
    ['an emptied text', { names: ['x'] }, { names: [] }, [{ path: ['spec', 'names'], remove: true }]],
    [
      'a list is one value',
      { names: ['x'] },
      { names: ['x', 'y'] },
      [{ path: ['spec', 'names'], value: ['x', 'y'] }],
    ],
    [
      'a member of an object',
      { timeouts: { connectSeconds: 5, idleSeconds: 6 } },
      { timeouts: { connectSeconds: 7, idleSeconds: 6 } },
      [{ path: ['spec', 'timeouts', 'connectSeconds'], value: 7 }],
    ],
    [
      'a new object without its empty members',
      {},
      { timeouts: { connectSeconds: 7, idleSeconds: '' } },
      [{ path: ['spec', 'timeouts'], value: { connectSeconds: 7 } }],
    ],
    [
      'an emptied object',
      { timeouts: { connectSeconds: 7 } },
      { timeouts: { connectSeconds: '' } },
      [{ path: ['spec', 'timeouts'], remove: true }],
    ],
    ['an entry that came', {}, { models: [{ name: 'a' }] }, [{ ...models, value: { name: 'a' } }]],
    [
      'an entry that went',
      { models: [{ name: 'a' }, { name: 'b' }] },
      { models: [{ name: 'b' }] },
      [{ ...models, remove: true }],
    ],
    [
      'a member of an entry',
      { models: [{ name: 'a' }, { name: 'b' }] },
      { models: [{ name: 'a', aliases: ['x'] }, { name: 'b' }] },
      [{ path: [...models.path, 'aliases'], value: ['x'] }],
    ],
    [
      'a typing error stays for the server to judge',
      { weight: 1 },
      { weight: '1x' },
      [{ path: ['spec', 'weight'], value: '1x' }],
    ],
  ] as const)('%s', ([, before, after, expected]) => {
    expect(specEdits(before, after, schema)).toEqual(expected);
  });
});

describe('what a model said', () => {
  test.for([
    ['chat', { choices: [{ delta: { content: 'a' } }] }, 'a'],
    ['chat', { choices: [{ message: { content: 'whole' } }] }, 'whole'],
    ['chat', { choices: [] }, ''],
    ['chat', undefined, ''],
    ['responses', { type: 'response.output_text.delta', delta: 'b' }, 'b'],
    ['responses', { output: [{ content: [{ text: 'x' }, { text: 'y' }] }] }, 'xy'],
    [
      'responses',
      { type: 'response.completed', response: { output: [{ content: [{ text: 'again' }] }] } },
      '',
    ],
    ['messages', { type: 'content_block_delta', delta: { text: 'c' } }, 'c'],
    ['messages', { content: [{ type: 'text', text: 'd' }] }, 'd'],
    ['messages', { type: 'content_block_delta', delta: { partial_json: '{' } }, ''],
    ['completions', { choices: [{ text: 'e' }] }, 'e'],
    ['completions', { choices: [{ text: { not: 'text' } }] }, ''],
  ] as const)('%s %j', ([format, said, expected]) => {
    expect(tryFormats[format].textOf(said)).toBe(expected);
  });
  test.for([['\n'], ['\r\n']])('events are found wherever the pieces are cut (%j)', ([end = '']) => {
    const stream = [
      'event: x',
      'data: {"a":1}',
      '',
      ': still here',
      '',
      'data: two',
      'data: lines',
      '',
      'data: cut',
    ].join(end);
    for (let at = 0; at <= stream.length; at++) {
      const read = createEventReader();
      expect([...read(stream.slice(0, at)), ...read(stream.slice(at))], `cut at ${at}`).toEqual([
        '{"a":1}',
        'two\nlines',
      ]);
    }
  });
});

test.for([
  [5, 5, '5 models'],
  [1, 5, '1 of 5 models'],
  [1, 1, '1 model'],
  [0, 1, '0 of 1 model'],
] as const)('%d of %d', ([shown, all, text]) => {
  expect(countOf(shown, all, 'model')).toBe(text);
});
