import { describe, expect, expectTypeOf, test } from 'vitest';
import type { z } from 'zod';
import { type DialectWish, resolveDialect } from '../../../../src/convert/dialect.ts';
import { BufferBudget } from '../../../../src/gateway/admission/buffer-budget.ts';
import { Conversion } from '../../../../src/gateway/conversion/conversion.ts';
import { droppedLabel } from '../../../../src/gateway/conversion/dropped-label.ts';
import { dialectSchema } from '../../../../src/resources/dialect.ts';
import { upstreamNodeSchema } from '../../../../src/resources/upstream-node.ts';
import { dialectOf } from '../../../../src/routing/candidate-dialect.ts';
import type { Candidate } from '../../../../src/store/store.ts';

function candidate(spec: object = {}, model = 'm'): Candidate {
  const resource = upstreamNodeSchema.parse({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'UpstreamNode',
    metadata: { namespace: 'home', name: 'n' },
    spec: { baseURL: 'http://n.example:8000/v1', ...spec },
  });
  const node = { id: 'home/n', resource, nativeFormats: new Set(), credentials: {}, checkedAtMs: 0 };
  return { node, model, enabled: true } as unknown as Candidate;
}

describe('the dialect', () => {
  test('of manifests is the one that the conversion takes, field by field', () => {
    type Manifest = z.output<typeof dialectSchema>;
    expectTypeOf<Fields<Manifest>>().toEqualTypeOf<Fields<DialectWish>>();
    const {
      reasoningOff: _derived,
      mostStops: _ofHost,
      ...resolved
    } = resolveDialect({ host: 'x', model: 'm' });
    expect(Object.keys(dialectSchema.shape).toSorted()).toEqual(Object.keys(resolved).toSorted());
  });

  test('is resolved once for a candidate: the model before the node before the host', () => {
    const one = candidate({
      baseURL: 'https://api.openai.com/v1',
      dialect: { files: false, developerRole: false },
      models: [
        { name: 'm', dialect: { developerRole: true } },
        { name: 'other', dialect: { tokenize: true } },
      ],
    });
    expect(dialectOf(one)).toMatchObject({
      maxTokensField: 'MaxCompletionTokens',
      files: false,
      developerRole: true,
      tokenize: false,
    });
    expect(dialectOf(one)).toBe(dialectOf(one));
  });
});

const bytes = (body: object) => Buffer.from(JSON.stringify({ model: 'alias', max_tokens: 1, ...body }));
const source = (text: Buffer) => ({ size: text.length, bytes: text });
const messages = [{ role: 'user', content: 'x' }];
const conversion = (body: object, strict = false) =>
  new Conversion('messages', source(bytes(body)), {
    strict,
    now: () => 0,
    share: new BufferBudget(10_000).of('key'),
  });

describe('one request', () => {
  test('is converted for each candidate from the caller’s own body', () => {
    const one = conversion({ messages });
    expect(
      one.prepare(candidate({ dialect: { maxTokensField: 'MaxCompletionTokens' } }, 'a')),
    ).toBeUndefined();
    expect(one.current.chats).toMatchObject([{ model: 'a', max_completion_tokens: 1, messages }]);
    expect(one.prepare(candidate({}, 'b'))).toBeUndefined();
    expect(one.current.chats).toMatchObject([{ model: 'b', max_tokens: 1, messages }]);
    expect(one.current.chats[0]?.max_completion_tokens).toBeUndefined();
  });

  test.each([
    ['nothing is lost', { messages }, false],
    ['a hint', { messages, metadata: { user_id: 'x' } }, false],
    ['what some dialect takes', { messages, top_k: 1 }, false],
    ['what none takes', { messages, thinking: { type: 'enabled', budget_tokens: 2000 } }, true],
    ['what is refused', { messages, mcp_servers: [{}] }, true],
    ['what is wrong', { messages: 1 }, true],
  ])('wants a node that speaks its format: %s', (_name, body, wanted) => {
    expect(conversion(body).needsNative()).toBe(wanted);
  });

  test('is refused by a strict key where something is lost', () => {
    const one = conversion({ messages, top_k: 1 }, true);
    expect(one.prepare(candidate())).toMatchObject({ status: 400, param: 'top_k' });
    expect(one.prepare(candidate({ dialect: { samplingExtras: true } }))).toBeUndefined();
  });

  test('lets its body go', () => {
    const one = conversion({ messages });
    one.prepare(candidate());
    one.release();
    expect(one.prepare(candidate())).toMatchObject({ status: 400 });
  });
});

test.each([
  ['top_k', 'top_k'],
  ['tools[12]', 'tools'],
  ['tools[2].cache_control', 'tools.cache_control'],
  ['messages[0].content[31].cache_control', 'messages.content.cache_control'],
  ['my_secret_field', 'other'],
  ['constructor', 'other'],
  ['messages[3].content[0].content[1].odd', 'messages'],
  ['+12', 'other'],
])('the label of %s is %s', (path, label) => {
  expect(droppedLabel(path)).toBe(label);
});

/** Each field's values, without what differs only in how it is written down: optional, readonly. */
type Fields<T> = {
  -readonly [K in keyof T]-?: NonNullable<T[K]> extends readonly (infer Item)[] ? Item : NonNullable<T[K]>;
};
