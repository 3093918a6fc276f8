import { describe, expect, test } from 'vitest';
import { servedNames } from '../../../src/store/node-models.ts';
import { makeNode } from './make.ts';

const found = (name: string, enabled = true) => ({ name, enabled, source: 'Discovered' });
const byHand = (name: string, enabled = true) => ({ name, enabled, source: 'Manual' });

interface Case {
  name: string;
  spec: object;
  models?: object[];
  /** `name>model`, with `-` in front when disabled; `>model` left out when the same. */
  serves: string[];
}

const cases: Case[] = [
  { name: 'nothing known', spec: {}, serves: [] },
  {
    name: 'discovered, as the status says',
    spec: {},
    models: [found('a'), found('b', false)],
    serves: ['a', '-b'],
  },
  { name: 'manual before any status', spec: { manualModels: ['a'] }, serves: ['a'] },
  {
    name: 'discovered and manual unite',
    spec: { manualModels: ['b'] },
    models: [found('a')],
    serves: ['a', 'b'],
  },
  {
    name: 'a manual one is enabled although the status is stale',
    spec: { manualModels: ['a'] },
    models: [byHand('a', false)],
    serves: ['a'],
  },
  { name: 'a manual one that left the spec is gone at once', spec: {}, models: [byHand('a')], serves: [] },
  {
    name: 'discovery Never: the manual list alone',
    spec: { manualModels: ['b'], sync: { discovery: 'Never' } },
    models: [found('a')],
    serves: ['b'],
  },
  {
    name: 'a wish beats the status',
    spec: {
      models: [
        { name: 'a', enabled: false },
        { name: 'b', enabled: true },
      ],
    },
    models: [found('a'), found('b', false)],
    serves: ['-a', 'b'],
  },
  {
    name: 'a wish that was taken back, although the status is stale',
    spec: { models: [{ name: 'b' }] },
    models: [
      { ...found('a', false), startedEnabled: true },
      { ...found('b'), startedEnabled: false },
    ],
    serves: ['a', '-b'],
  },
  {
    name: 'a wish beats the manual default',
    spec: { manualModels: ['a'], models: [{ name: 'a', enabled: false }] },
    serves: ['-a'],
  },
  {
    name: 'a wish without enabled changes nothing',
    spec: { models: [{ name: 'a' }, { name: 'b' }] },
    models: [found('a'), found('b', false)],
    serves: ['a', '-b'],
  },
  {
    name: 'an entry that no list knows serves nothing',
    spec: { models: [{ name: 'x', enabled: true, aliases: ['y'] }] },
    models: [found('a')],
    serves: ['a'],
  },
  {
    name: 'aliases, enabled as their model',
    spec: {
      models: [
        { name: 'a', aliases: ['x', 'y'] },
        { name: 'b', enabled: false, aliases: ['z'] },
      ],
    },
    models: [found('a'), found('b')],
    serves: ['a', '-b', 'x>a', 'y>a', '-z>b'],
  },
  {
    name: 'a real name beats an alias',
    spec: { models: [{ name: 'a', aliases: ['b'] }] },
    models: [found('a'), found('b')],
    serves: ['a', 'b'],
  },
  {
    name: 'a disabled real name beats an alias',
    spec: {
      models: [
        { name: 'a', aliases: ['b'] },
        { name: 'b', enabled: false },
      ],
    },
    models: [found('a'), found('b')],
    serves: ['a', '-b'],
  },
  {
    name: 'models that share an alias all serve it',
    spec: {
      models: [
        { name: 'b', aliases: ['x'] },
        { name: 'a', aliases: ['x'] },
      ],
    },
    models: [found('a'), found('b')],
    serves: ['a', 'b', 'x>a', 'x>b'],
  },
  {
    name: 'each as it is enabled',
    spec: {
      models: [
        { name: 'b', aliases: ['x'] },
        { name: 'a', enabled: false, aliases: ['x'] },
      ],
    },
    models: [found('a'), found('b')],
    serves: ['-a', 'b', '-x>a', 'x>b'],
  },
  {
    name: 'an unknown model does not keep an alias from a known one',
    spec: {
      models: [
        { name: 'a', aliases: ['x'] },
        { name: 'b', aliases: ['x'] },
      ],
    },
    models: [found('b')],
    serves: ['b', 'x>b'],
  },
  {
    name: 'case matters',
    spec: { models: [{ name: 'A', aliases: ['b'] }] },
    models: [found('A'), found('a'), found('B')],
    serves: ['A', 'B', 'a', 'b>A'],
  },
  {
    name: 'names of object members are names',
    spec: { manualModels: ['constructor', '__proto__'] },
    serves: ['__proto__', 'constructor'],
  },
];

describe('what a node serves', () => {
  test.each(cases)('$name', ({ spec, models, serves }) => {
    const names = servedNames(makeNode(spec, models && { models }));
    const shown = [...names].flatMap(([name, models]) =>
      models.map(({ model, enabled }) => `${enabled ? '' : '-'}${name}${model === name ? '' : `>${model}`}`),
    );
    expect(shown.sort()).toEqual([...serves].sort());
  });
});
