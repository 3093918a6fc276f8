import { expect, test } from 'vitest';
import { upstreamURL } from '../../../src/upstream/paths.ts';

test.each([
  ['https://api.openai.com/v1', '/chat/completions', 'https://api.openai.com/v1/chat/completions'],
  ['https://api.openai.com/v1/', '/models', 'https://api.openai.com/v1/models'],
  ['https://api.openai.com/v1//', '/models', 'https://api.openai.com/v1/models'],
  ['https://api.openai.com/v1', '/v1/responses', 'https://api.openai.com/v1/responses'],
  ['https://x.example/openai/v2', '/v1/responses', 'https://x.example/openai/v1/responses'],
  ['https://x.example/openai/v2', '/embeddings', 'https://x.example/openai/v2/embeddings'],
  ['https://x.example', '/v1/messages', 'https://x.example/v1/messages'],
  ['https://x.example/', '/models', 'https://x.example/models'],
  ['https://x.example/anthropic', '/v1/messages', 'https://x.example/anthropic/v1/messages'],
  ['https://x.example/v1', '/v1/messages/count_tokens', 'https://x.example/v1/messages/count_tokens'],
  ['http://v.example:8000/v1', '/tokenize', 'http://v.example:8000/tokenize'],
  ['http://v.example/llm/v1/', '/tokenize', 'http://v.example/llm/tokenize'],
  ['https://x.example/v1beta', '/v1/messages', 'https://x.example/v1/messages'],
  ['https://x.example/V1.2-preview', '/v1/messages', 'https://x.example/v1/messages'],
  ['https://x.example/v1beta/openai', '/v1/messages', 'https://x.example/v1beta/openai/v1/messages'],
  ['https://x.example/v1/v1', '/v1/messages', 'https://x.example/v1/v1/messages'],
  ['https://x.example/vertex', '/v1/messages', 'https://x.example/vertex/v1/messages'],
  ['https://x.example/v8engine', '/v1/messages', 'https://x.example/v8engine/v1/messages'],
  ['https://x.example/a%2Fb/v1', '/models', 'https://x.example/a%2Fb/v1/models'],
  ['http://x.example:8080/v1', '/completions', 'http://x.example:8080/v1/completions'],
] as const)('%s + %s', (base, path, expected) => {
  const { origin, path: full } = upstreamURL(base, path);
  expect(origin + full).toBe(expected);
});
