import type { ConvertedFormat } from '../../../src/convert/converted-formats.ts';
import { isObject } from '../../../src/convert/json.ts';
import { mark, type RequestFrame } from './field-requests.ts';

type Fields = Readonly<Record<string, unknown>>;

/** How requests of a format are made from its types. */
export interface RequestFormat extends RequestFrame {
  readonly format: ConvertedFormat;
  /** File of the types, and the members of roots.ts that are requests of this format. */
  readonly roots: readonly (readonly [graph: string, root: string])[];
}

const tool = { type: 'object', properties: {} };

export const requestFormats: readonly RequestFormat[] = [
  {
    format: 'messages',
    roots: [
      ['anthropic', 'request'],
      ['anthropic', 'betaRequest'],
      ['anthropic-previous', 'request'],
      ['anthropic-previous', 'betaRequest'],
    ],
    basis: { model: 'm', max_tokens: 1000, messages: [{ role: 'user', content: 'hello' }] },
    arounds: [aroundMessages, besideTools],
    needs: { system: { content: 'be kind' } },
  },
  {
    format: 'responses',
    roots: [
      ['openai', 'request'],
      ['openai', 'betaRequest'],
      ['openai-previous', 'request'],
      ['openai-previous', 'betaRequest'],
    ],
    basis: { model: 'm', input: 'hello' },
    arounds: [aroundResponses, besideFunctions, beforeReply, streamed],
    needs: {
      input_image: { image_url: 'https://example.com/a.png' },
      input_file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
      tool_search_output: { call_id: 'call_1', execution: 'client' },
      function_call_output: { call_id: 'call_1' },
      allowed_tools: { tools: [{ type: 'function', name: mark }] },
    },
  },
  {
    format: 'completions',
    roots: [
      ['openai', 'completionsRequest'],
      ['openai-previous', 'completionsRequest'],
    ],
    basis: { model: 'm', prompt: 'hello' },
    arounds: [(body) => body, streamed],
    needs: {},
  },
];

/** A turn stands among others; a result has its call before it; a forced tool is declared. */
function aroundMessages(body: Fields): Fields {
  const messages = Array.isArray(body['messages']) ? (body['messages'] as readonly unknown[]) : [];
  const [only] = messages;
  const hello = { role: 'user', content: 'hello' };
  if (!isObject(only) || only['content'] === 'hello') return withTools(body);
  const blocks: readonly unknown[] = Array.isArray(only['content']) ? only['content'] : [];
  const calls = blocks.flatMap((block) =>
    isObject(block) && block['type'] === 'tool_result'
      ? [{ type: 'tool_use', id: block['tool_use_id'], name: 'lookup', input: {} }]
      : [],
  );
  const before = calls.length === 0 ? [hello] : [hello, { role: 'assistant', content: calls }];
  const behind = only['role'] === 'user' ? [] : [{ role: 'user', content: 'go on' }];
  return withTools({ ...body, messages: [...before, only, ...behind] });
}

function withTools(body: Fields): Fields {
  const { tool_choice: choice } = body;
  if (!isObject(choice) || choice['type'] !== 'tool') return body;
  return { ...body, tools: [{ name: choice['name'], input_schema: tool }] };
}

function besideTools(body: Fields, path: string): Fields | undefined {
  if (!path.startsWith('tool_choice')) return undefined;
  const { tools = [{ name: 'lookup', input_schema: tool }], ...rest } = withTools(body);
  return { ...rest, tools };
}

const outputs: Readonly<Record<string, Fields>> = {
  function_call_output: { type: 'function_call', name: 'lookup', arguments: '{}' },
  custom_tool_call_output: { type: 'custom_tool_call', name: 'lookup', input: 'x' },
  tool_search_output: { type: 'tool_search_call', execution: 'client', arguments: {} },
};

/** An item stands behind a message; an output has its call before it; a forced tool is declared. */
function aroundResponses(body: Fields): Fields {
  const items = Array.isArray(body['input']) ? (body['input'] as readonly unknown[]) : [];
  const [only] = items;
  if (!isObject(only)) return withForced(body);
  const hello = { role: 'user', content: 'hello' };
  const call = outputs[String(only['type'])];
  if (call === undefined) return { ...body, input: [hello, only] };
  return { ...body, input: [hello, { ...call, call_id: only['call_id'] }, only] };
}

function withForced(body: Fields): Fields {
  const { tool_choice: choice } = body;
  if (!isObject(choice)) return body;
  const name = choice['type'] === 'allowed_tools' ? mark : choice['name'];
  if (typeof name !== 'string') return body;
  const declared =
    choice['type'] === 'custom' ? { type: 'custom', name } : { type: 'function', name, parameters: tool };
  return { ...body, tools: [declared] };
}

function besideFunctions(body: Fields, path: string): Fields | undefined {
  if (!path.startsWith('tool_choice') && path !== 'parallel_tool_calls') return undefined;
  const { tools = [{ type: 'function', name: mark, parameters: tool }], ...rest } = withForced(body);
  return { ...rest, tools };
}

/** Reasoning goes with what the assistant says behind it. */
function beforeReply(body: Fields, path: string): Fields | undefined {
  if (!path.startsWith('input[]')) return undefined;
  const items = Array.isArray(body['input']) ? (body['input'] as readonly unknown[]) : [];
  const [only] = items;
  if (!isObject(only) || only['type'] !== 'reasoning') return undefined;
  return {
    ...body,
    input: [{ role: 'user', content: 'hello' }, only, { role: 'assistant', content: 'well' }],
  };
}

/** Some fields are allowed in streams alone. */
function streamed(body: Fields, path: string): Fields | undefined {
  return path.startsWith('stream_options') ? { ...body, stream: true } : undefined;
}
