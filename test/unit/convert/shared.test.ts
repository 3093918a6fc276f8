import { describe, expect, it } from 'vitest';
import { type Effort, effortScale, resolveDialect } from '../../../src/convert/dialect.ts';
import { Dropped } from '../../../src/convert/dropped.ts';
import { JsonProgress } from '../../../src/convert/json-progress.ts';
import { nearestEffort } from '../../../src/convert/reasoning-effort.ts';
import { ToolIds } from '../../../src/convert/tool-ids.ts';
import { ToolNames } from '../../../src/convert/tool-names.ts';
import { countingIds } from './messages-fixtures.ts';

describe('ToolNames', () => {
  it('keeps names that fit', () => {
    const names = new ToolNames();
    expect(names.chatName({ name: 'get_weather-1' })).toBe('get_weather-1');
    expect(names.origin('get_weather-1')).toEqual({ name: 'get_weather-1' });
  });

  it.each(['a.b', 'ä', 'x'.repeat(65), 'with space', '', '日本'])(
    'changes %j reversibly, always the same',
    (name) => {
      const names = new ToolNames();
      const chatName = names.chatName({ name });
      expect(chatName).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(names.origin(chatName)).toEqual({ name });
      expect(names.chatName({ name })).toBe(chatName);
      expect(new ToolNames().chatName({ name })).toBe(chatName);
    },
  );

  it('keeps names apart that would meet', () => {
    const names = new ToolNames();
    const chatNames = ['a.b', 'a_b', 'a b', 'a:b'].map((name) => names.chatName({ name }));
    expect(new Set(chatNames).size).toBe(4);
  });

  it('joins namespace and member, and keeps a flat tool of that name apart', () => {
    const names = new ToolNames();
    expect(names.chatName({ name: 'm', namespace: 'ns' })).toBe('ns__m');
    const flat = names.chatName({ name: 'ns__m' });
    expect(flat).not.toBe('ns__m');
    expect(names.origin('ns__m')).toEqual({ name: 'm', namespace: 'ns' });
    expect(names.origin(flat)).toEqual({ name: 'ns__m' });
  });

  it('gives back a name that it never sent', () => {
    expect(new ToolNames().origin('made_up')).toEqual({ name: 'made_up' });
  });
});

describe('ToolIds', () => {
  it('keeps, cleans, invents, and never gives one twice', () => {
    const ids = new ToolIds(countingIds(), 'toolu_');
    const taken = ['call_1', 'functions.x:0', '', 'call_1', 'x'.repeat(100)].map((id) => ids.take(id));
    expect(taken).toEqual(['call_1', 'functions_x_0', 'toolu_1', 'toolu_2', 'x'.repeat(64)]);
  });
});

describe('nearestEffort', () => {
  const three: readonly Effort[] = ['low', 'medium', 'high'];
  it.each([
    ['high', three, 'high'],
    ['max', three, 'high'],
    ['minimal', three, 'low'],
    ['none', three, undefined],
    ['none', effortScale, 'none'],
    ['medium', ['low', 'high'], 'low'],
    ['low', ['none', 'high'], 'high'],
    ['low', ['none'], undefined],
    ['high', [], undefined],
  ] as const)('%s of %j is %s', (wish, taken, nearest) => {
    expect(nearestEffort(wish, taken)).toBe(nearest);
  });
});

describe('resolveDialect', () => {
  it('prefers the model to the node to the host', () => {
    const question = { host: 'api.openai.com', model: 'gpt-5' };
    expect(resolveDialect(question).files).toBe(true);
    expect(resolveDialect({ ...question, node: { files: false } }).files).toBe(false);
    expect(resolveDialect({ ...question, node: { files: false }, modelWish: { files: true } }).files).toBe(
      true,
    );
    expect(resolveDialect({ ...question, node: { files: undefined } }).files).toBe(true);
  });

  it.each(['api.openai.com.evil.example', 'myapi.openai.com', 'openai.example', 'localhost'])(
    '%s is not OpenAI',
    (host) => {
      expect(resolveDialect({ host, model: 'm' }).maxTokensField).toBe('MaxTokens');
    },
  );

  it('switches thinking off only where a manifest says that it can', () => {
    expect(resolveDialect({ host: 'api.openai.com', model: 'gpt-5' }).reasoningOff).toBe(false);
    expect(
      resolveDialect({ host: 'x', model: 'm', node: { reasoningEfforts: ['none', 'high'] } }).reasoningOff,
    ).toBe(true);
  });
});

describe('Dropped', () => {
  it('names losses before hints, each once', () => {
    const dropped = new Dropped();
    for (let index = 0; index < 100; index++) dropped.hint(`messages[${index}].cache_control`);
    dropped.loss('top_k');
    dropped.loss('top_k');
    expect(dropped.list()[0]).toBe('top_k');
    expect(dropped.list()).toHaveLength(25);
    expect(dropped.list().at(-1)).toBe('+77');
  });
});

describe('JsonProgress', () => {
  const sound = [
    '{}',
    ' {"a":1}',
    '{"a":[1,-2.5e+3,true,false,null,"x\\u00e9\\n"],"b":{"c":[]}}',
    '{"a" : { } , "b" : [ [ ] ] }\n',
    '{"":"日本 🎉 \\" \\\\"}',
  ];
  const broken = [
    '[]',
    '"x"',
    'null',
    '1',
    'x',
    '{a:1}',
    '{"a":}',
    '{"a":1,}',
    '{"a" 1}',
    '{"a":1 2}',
    '{"a":01}',
    '{"a":nul}',
    '{"a":[1,]}',
    '{"a":"\n"}',
    '{"a":"\\x"}',
    '{"a":"\\u12g4"}',
    '{]',
    '{"a":[}',
    '{,}',
    "{'a':1}",
    '{"a":+1}',
    '{"a"::1}',
  ];

  it.each(sound)('knows that %j is complete, and no part of it is', (text) => {
    const progress = new JsonProgress();
    const trimmed = text.trimEnd();
    for (const [index, c] of [...trimmed].entries()) {
      expect(progress.state).not.toBe('complete');
      expect(progress.state, trimmed.slice(0, index)).not.toBe('invalid');
      progress.take(c);
    }
    expect(progress.state).toBe('complete');
  });

  it.each(broken)('knows that %j is no object', (text) => {
    const progress = new JsonProgress();
    progress.take(text);
    expect(progress.state).toBe('invalid');
  });

  it('says how much of a text belongs to the object', () => {
    const progress = new JsonProgress();
    expect(progress.take('{"a":1} {"b":2}')).toBe(7);
    expect(progress.take('{}')).toBe(0);
  });

  it('bounds nesting', () => {
    const progress = new JsonProgress();
    progress.take('{"a":'.repeat(100_000));
    expect(progress.state).toBe('invalid');
  });
});
