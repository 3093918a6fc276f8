import { expect, test } from 'vitest';
import { windowOf } from '../../../src/upstream/listed-window.ts';

test.each<[string, unknown, ReturnType<typeof windowOf>]>([
  ['vLLM, SGLang', { id: 'm', max_model_len: 32_768 }, { contextTokens: 32_768 }],
  [
    'Anthropic',
    { id: 'm', type: 'model', max_input_tokens: 200_000, max_tokens: 64_000 },
    { contextTokens: 200_000, outputTokens: 64_000 },
  ],
  [
    'OpenRouter',
    {
      id: 'm',
      context_length: 131_072,
      top_provider: { context_length: 131_072, max_completion_tokens: 8_192 },
    },
    { contextTokens: 131_072, outputTokens: 8_192 },
  ],
  ['OpenRouter without a bound', { id: 'm', top_provider: { max_completion_tokens: null } }, undefined],
  [
    'llama.cpp: the window it was started with, not the one of the training',
    { id: 'm', meta: { n_ctx: 8_192, n_ctx_train: 131_072 } },
    { contextTokens: 8_192 },
  ],
  ['llama.cpp before it told n_ctx', { id: 'm', meta: { n_ctx_train: 131_072 } }, undefined],
  [
    'this gateway',
    { id: 'm', context_window: 10, max_model_len: 10, max_input_tokens: 10, max_tokens: 5 },
    { contextTokens: 10, outputTokens: 5 },
  ],
  ['an answer longer than the window', { max_model_len: 10, max_tokens: 11 }, { contextTokens: 10 }],
  ['a name alone', 'm', undefined],
  ['no object', null, undefined],
  ['text', { max_model_len: '32768' }, undefined],
  ['no whole number', { max_model_len: 1.5 }, undefined],
  ['zero, then a count', { max_model_len: 0, context_length: 7 }, { contextTokens: 7 }],
  ['more than any window', { max_model_len: 1e9 }, undefined],
  ['an object with a number inside', { max_model_len: { valueOf: 5 } }, undefined],
  ['an inherited member', Object.create({ max_model_len: 5 }), undefined],
])('%s', (_, entry, expected) => {
  expect(windowOf(entry)).toEqual(expected);
});
