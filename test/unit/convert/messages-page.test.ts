import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { convertMessagesRequest } from '../../../src/convert/messages-request.ts';
import { options, request } from './messages-fixtures.ts';

const page = readFileSync(new URL('../../../src/convert/messages.md', import.meta.url), 'utf8');
const [fields = ''] = page.split('Content:');
const rows = [
  ...fields.matchAll(
    /^\| `?([\w.[\]]+|anything else)`? \| (carried|changed|dropped, a loss|dropped, a hint|refused) \|/gm,
  ),
].map(([, field = '', fate = '']) => ({ field, fate }));

const tools = [{ name: 'f', input_schema: { type: 'object' } }];
const tool = (more: object) => ({ tools: tools.map((one) => ({ ...one, ...more })) });
const format = { type: 'json_schema', schema: { type: 'object' } };

/** For each field of the page a request that uses it, beyond what every request has. */
const samples: Readonly<Record<string, object>> = {
  model: {},
  max_tokens: {},
  messages: {},
  system: { system: 's' },
  stop_sequences: { stop_sequences: ['x'] },
  temperature: { temperature: 0.5 },
  top_p: { top_p: 0.5 },
  top_k: { top_k: 3 },
  stream: { stream: true },
  'metadata.user_id': { metadata: { user_id: 'u' } },
  'thinking.budget_tokens': { thinking: { type: 'enabled', budget_tokens: 2_000 } },
  'thinking.display': { thinking: { type: 'adaptive', display: 'omitted' } },
  'thinking.block_binding': {
    thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'error' } },
  },
  'output_config.task_budget': { output_config: { task_budget: { type: 'tokens', total: 1 } } },
  'output_config.effort': { output_config: { effort: 'high' } },
  'output_config.format': { output_config: { format } },
  output_format: { output_format: format },
  tools: { tools },
  'tools[].cache_control': tool({ cache_control: { type: 'ephemeral' } }),
  'tools[].defer_loading': tool({ defer_loading: true }),
  'tools[].eager_input_streaming': tool({ eager_input_streaming: true }),
  'tools[].input_examples': tool({ input_examples: [{}] }),
  'tools[].allowed_callers': tool({ allowed_callers: ['direct', 'code_execution_20250825'] }),
  tool_choice: { tools, tool_choice: { type: 'any' } },
  'tool_choice.disable_parallel_tool_use': {
    tools,
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
  },
  service_tier: { service_tier: 'auto' },
  speed: { speed: 'fast' },
  diagnostics: { diagnostics: { a: 1 } },
  cache_control: { cache_control: { type: 'ephemeral' } },
  user_profile_id: { user_profile_id: 'u' },
  workspace_id: { workspace_id: 'w' },
  betas: { betas: ['b'] },
  billing_policy: { billing_policy: { a: 1 } },
  fallback_credit_token: { fallback_credit_token: 't' },
  context_management: { context_management: { edits: [{}] } },
  inference_geo: { inference_geo: 'eu' },
  container: { container: 'c' },
  'container.skills': { container: { skills: [{}] } },
  mcp_servers: { mcp_servers: [{}] },
  compaction: { compaction: { type: 'summarize' } },
  thread: { thread: { type: 'create' } },
  'anything else': { 'anything else': 1 },
};

describe('the page of the messages conversion', () => {
  it('has a row for each sample', () => {
    expect(rows.map(({ field }) => field).sort()).toEqual(Object.keys(samples).sort());
  });

  it.each(rows)('$field is $fate', ({ field, fate }) => {
    const convert = () => convertMessagesRequest(request(samples[field]), options());
    if (fate === 'refused') {
      expect(convert).toThrowError(expect.objectContaining({ param: field }));
      return;
    }
    const { dropped, lossy } = convert();
    const named = dropped.map((path) => path.replaceAll(/\[\d+\]/g, '[]'));
    expect(named).toEqual(fate.startsWith('dropped') ? [field.replace(' ', '?')] : []);
    expect(lossy).toBe(fate.endsWith('a loss'));
    const strictly = () => convertMessagesRequest(request(samples[field]), options({}, true));
    if (lossy) expect(strictly).toThrowError(expect.objectContaining({ param: dropped[0] }));
    else expect(strictly().dropped).toEqual(dropped);
  });
});
