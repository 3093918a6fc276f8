import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { convertCompletionsRequest } from '../../../src/convert/completions-request.ts';
import { convertResponsesRequest } from '../../../src/convert/responses-request.ts';
import { type Json, options } from './responses-fixtures.ts';

/** The rows of a page's first table. */
function rowsOf(page: string): readonly { field: string; fate: string }[] {
  const text = readFileSync(new URL(`../../../src/convert/${page}`, import.meta.url), 'utf8');
  const row =
    /^\| `?([\w.[\]]+|anything else)`? \| (carried|changed|dropped, a loss|dropped, a hint|refused) \|/gm;
  return [...text.matchAll(row)].map(([, field = '', fate = '']) => ({ field, fate }));
}

const tools = [{ type: 'function', name: 'f' }];
const tool = (more: Json) => ({ tools: [{ ...tools[0], ...more }] });

/** For each field of a page a request that uses it, beyond what every request has. */
const pages: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  'responses.md': {
    model: {},
    input: {},
    instructions: { instructions: 'i' },
    max_output_tokens: { max_output_tokens: 20 },
    temperature: { temperature: 1 },
    top_p: { top_p: 1 },
    presence_penalty: { presence_penalty: 1 },
    frequency_penalty: { frequency_penalty: 1 },
    top_logprobs: { top_logprobs: 1 },
    stream: { stream: true },
    stream_options: { stream_options: { include_obfuscation: true } },
    tools: { tools },
    'tools[].defer_loading': tool({ defer_loading: true }),
    'tools[].allowed_callers': tool({ allowed_callers: ['direct', 'programmatic'] }),
    'tools[].output_schema': tool({ output_schema: { type: 'object' } }),
    'tools[].async': tool({ async: true }),
    tool_choice: { tools, tool_choice: 'required' },
    parallel_tool_calls: { tools, parallel_tool_calls: false },
    'text.format': { text: { format: { type: 'json_object' } } },
    'text.verbosity': { text: { verbosity: 'low' } },
    'reasoning.effort': { reasoning: { effort: 'low' } },
    'reasoning.summary': { reasoning: { summary: 'auto' } },
    'reasoning.context': { reasoning: { context: 'all_turns' } },
    'reasoning.mode': { reasoning: { mode: 'pro' } },
    user: { user: 'u' },
    safety_identifier: { safety_identifier: 's' },
    prompt_cache_key: { prompt_cache_key: 'k' },
    prompt_cache_retention: { prompt_cache_retention: '24h' },
    prompt_cache_options: { prompt_cache_options: { ttl: '30m' } },
    service_tier: { service_tier: 'flex' },
    metadata: { metadata: { a: 'b' } },
    include: { include: ['message.output_text.logprobs'] },
    store: { store: true },
    truncation: { truncation: 'auto' },
    max_tool_calls: { max_tool_calls: 2 },
    client_metadata: { client_metadata: { a: 'b' } },
    context_management: { context_management: [{ type: 'compaction' }] },
    moderation: { moderation: { model: 'm' } },
    access_programs: { access_programs: ['a'] },
    previous_response_id: { previous_response_id: 'resp_1' },
    conversation: { conversation: 'conv_1' },
    prompt: { prompt: { id: 'p' } },
    background: { background: true },
    'anything else': { 'anything else': 1 },
  },
  'completions.md': {
    model: {},
    prompt: {},
    n: { n: 2 },
    max_tokens: { max_tokens: 20 },
    echo: { echo: true },
    stop: { stop: 'x' },
    temperature: { temperature: 1 },
    top_p: { top_p: 1 },
    presence_penalty: { presence_penalty: 1 },
    frequency_penalty: { frequency_penalty: 1 },
    seed: { seed: 1 },
    logit_bias: { logit_bias: { 1: 2 } },
    stream: { stream: true },
    stream_options: { stream_options: { include_usage: true } },
    user: { user: 'u' },
    suffix: { suffix: 's' },
    best_of: { best_of: 2 },
    logprobs: { logprobs: 1 },
    'anything else': { 'anything else': 1 },
  },
};

function converted(page: string, sample: Json, strict: boolean = false) {
  if (page === 'responses.md') {
    const { chat, dropped, lossy } = convertResponsesRequest(
      { model: 'm', input: 'hi', ...sample },
      { ...options(), strict },
    );
    return { chat, dropped, lossy };
  }
  const { chats, dropped, lossy } = convertCompletionsRequest(
    { model: 'm', prompt: 'p', ...sample },
    { ...options(), strict },
  );
  return { chat: { ...chats[0] }, dropped, lossy };
}

describe.each(Object.entries(pages))('the page %s', (page, samples) => {
  const rows = rowsOf(page);

  it('has a row for each sample', () => {
    expect(rows.map(({ field }) => field).toSorted()).toEqual(Object.keys(samples).toSorted());
  });

  it.each(rows)('$field is $fate', ({ field, fate }) => {
    const sample = samples[field] ?? {};
    if (fate === 'refused') {
      expect(() => converted(page, sample)).toThrowError(expect.objectContaining({ param: field }));
      return;
    }
    const { chat, dropped, lossy } = converted(page, sample);
    const named = dropped.map((path) => path.replaceAll(/\[\d+\]/g, '[]'));
    expect(named).toEqual(fate.startsWith('dropped') ? [field.replace(' ', '?')] : []);
    expect(lossy).toBe(fate.endsWith('a loss'));
    const strictly = () => converted(page, sample, true);
    if (lossy) expect(strictly).toThrowError(expect.objectContaining({ param: dropped[0] }));
    else expect(strictly().dropped).toEqual(dropped);
    if (fate === 'carried') expect(chat).toMatchObject({ [field]: sample[field] });
  });
});
