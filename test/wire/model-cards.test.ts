import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { keyWithHash, manifest, manifests, startStandalone } from '../support/standalone.ts';

const key = keyWithHash();

/** A server that lists models with what vLLM and llama.cpp say about them. */
async function startLister() {
  const data = [
    { id: 'found', object: 'model', owned_by: 'vllm', max_model_len: 32_768 },
    { id: 'shared', object: 'model', owned_by: 'vllm', max_model_len: 16_384 },
    { id: 'trained', object: 'model', meta: { n_ctx_train: 131_072 } },
    { id: 'corrected', object: 'model', max_model_len: 1_000, max_tokens: 900 },
  ];
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, server };
}

test('a model says its window: what the node lists, what the card says, and of several nodes the smallest', async () => {
  const { url, server } = await startLister();
  const by = { baseURL: url, sync: { discovery: 'Never' } };
  await using standalone = await startStandalone({
    manifests: {
      'all.yaml': manifests(
        manifest('UpstreamNode', 'lists', {
          baseURL: url,
          models: [
            {
              name: 'corrected',
              aliases: ['claude-corrected'],
              dialect: { reasoningEfforts: ['low', 'high'] },
              card: { displayName: 'Mended', contextTokens: 800, input: ['Text', 'File'], tools: false },
            },
          ],
        }),
        manifest('UpstreamNode', 'second', {
          ...by,
          manualModels: ['shared', 'silent'],
          models: [{ name: 'shared', card: { contextTokens: 20_000, outputTokens: 4_000 } }],
        }),
        manifest('UpstreamNode', 'third', { ...by, manualModels: ['shared'] }),
        manifest('UpstreamNode', 'off', {
          ...by,
          enabled: false,
          manualModels: ['shared'],
          models: [{ name: 'shared', card: { contextTokens: 1 } }],
        }),
        manifest('APIKey', 'k', { hash: key.hash }),
      ),
    },
  });
  const caller = standalone.caller(key.text);
  await eventually('the list is synced', async () => (await caller.models()).includes('found'));
  const { text } = await caller.send('GET', '/models');
  const { data } = JSON.parse(text) as {
    data: { id: string; display_name: string; [name: string]: unknown }[];
  };
  const said = data.map(
    ({ id, display_name, context_window, max_model_len, max_input_tokens, max_tokens }) => [
      id,
      display_name,
      ...new Set([context_window, max_model_len, max_input_tokens]),
      max_tokens,
    ],
  );
  expect(said).toEqual([
    ['claude-corrected', 'Mended', 800, undefined],
    ['corrected', 'Mended', 800, undefined],
    ['found', 'found', 32_768, undefined],
    ['shared', 'shared', 16_384, 4_000],
    ['silent', 'silent', undefined, undefined],
    ['trained', 'trained', undefined, undefined],
  ]);
  const anthropic = new Anthropic({ apiKey: key.text, baseURL: standalone.baseURL.replace(/\/v1$/, '') });
  expect(await anthropic.models.retrieve('shared')).toMatchObject({
    max_input_tokens: 16_384,
    max_tokens: 4_000,
  });
  // Codex refuses the whole answer for a model that lacks a member, and keeps its own defaults for one that is not there.
  const forCodex = await caller.send('GET', '/models?client_version=0.169.0');
  const { models } = JSON.parse(forCodex.text) as { models: Record<string, unknown>[] };
  expect(models.map(({ slug }) => slug)).toEqual(['claude-corrected', 'corrected', 'found', 'shared']);
  expect(models.find(({ slug }) => slug === 'corrected')).toMatchObject({
    ...{ display_name: 'Mended', context_window: 800, input_modalities: ['text'] },
    supported_reasoning_levels: [
      { effort: 'low', description: 'low' },
      { effort: 'high', description: 'high' },
    ],
  });
  expect(models.map((model) => model['apply_patch_tool_type'])).toEqual([
    ...[undefined, undefined],
    ...['freeform', 'freeform'],
  ]);
  expect(JSON.parse(text)).not.toHaveProperty('models');
  server.close();
});
