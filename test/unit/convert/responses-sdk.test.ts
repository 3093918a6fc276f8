import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readChatBody } from '../../../src/convert/chat-body.ts';
import { openAIFailure } from '../../../src/convert/openai-errors.ts';
import { convertResponsesReply } from '../../../src/convert/responses-reply.ts';
import { UpstreamFault } from '../../../src/convert/upstream-fault.ts';
import { call, chatSse, delta, usageChunk } from './chat-chunks.ts';
import { convert, type Json, streamOf } from './responses-fixtures.ts';

// The official client against a server that gives it what the conversion made of a node's bytes.

const stop = delta({}, 'stop');
const calls = delta({}, 'tool_calls');
const usage = usageChunk(7, 3);

interface Script {
  readonly chunks: readonly unknown[];
  readonly request?: Json;
  readonly cut?: boolean;
}

const scripts: Readonly<Record<string, Script>> = {
  text: { chunks: [delta({ content: 'Hel' }), delta({ content: 'lo' }), stop, usage] },
  tools: {
    chunks: [
      delta({ content: 'Both.' }),
      call(0, 'call_a', 'f', '{"x":'),
      call(1, 'call_b', 'ns__g', ''),
      call(0, undefined, undefined, '1}'),
      call(2, 'call_c', 'patch', '{"input":"*** x"}'),
      calls,
      usage,
    ],
    request: {
      tools: [
        { type: 'function', name: 'f', parameters: { type: 'object' }, strict: false },
        { type: 'namespace', name: 'ns', description: 'n', tools: [{ type: 'function', name: 'g' }] },
        { type: 'custom', name: 'patch' },
      ],
    },
  },
  reasoning: {
    chunks: [
      delta({ reasoning_content: 'hm ' }),
      delta({ reasoning_content: 'ok' }),
      delta({ content: 'a' }),
      stop,
      usage,
    ],
  },
  summary: {
    chunks: [
      delta({ reasoning_content: 'hm ' }),
      delta({ reasoning_content: 'ok' }),
      delta({ content: 'a' }),
      stop,
      usage,
    ],
    request: { reasoning: { summary: 'auto' } },
  },
  refusal: { chunks: [delta({ refusal: 'I ' }), delta({ refusal: 'will not' }), stop, usage] },
  incomplete: { chunks: [delta({ content: 'Hel' }), delta({}, 'length'), usage] },
  citations: {
    chunks: [
      delta({ content: 'see' }),
      delta({
        annotations: [
          {
            type: 'url_citation',
            url_citation: { start_index: 0, end_index: 3, url: 'https://a.example', title: 'A' },
          },
        ],
      }),
      stop,
      usage,
    ],
  },
  structured: {
    chunks: [delta({ content: '{"a":' }), delta({ content: '1}' }), stop, usage],
    request: {
      text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true } },
    },
  },
  nothing: { chunks: [delta({ content: '' }), stop, usage] },
  failed: { chunks: [delta({ content: 'Hel' })], cut: true },
  rateLimit: {
    chunks: [
      delta({ content: 'Hel' }),
      { error: { message: 'try again in 3s', code: 'rate_limit_exceeded' } },
    ],
  },
};

function bytesOf(name: string): { readonly request: Json; readonly bytes: Buffer } {
  const { chunks, request = {}, cut = false } = scripts[name] ?? { chunks: [] };
  return { request, bytes: chatSse(chunks, { done: !cut }) };
}

function replyTo({ request, bytes }: ReturnType<typeof bytesOf>): { status: number; body: object } {
  const { state } = convert({ model: 'm', input: 'hi', ...request });
  try {
    return { status: 200, body: JSON.parse(convertResponsesReply(readChatBody(bytes), state).json) };
  } catch (error) {
    if (error instanceof UpstreamFault) return openAIFailure(error);
    throw error;
  }
}

let server: Server;
let client: OpenAI;

beforeAll(async () => {
  server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const asked: Json = JSON.parse(Buffer.concat(pieces).toString());
      const script = bytesOf(String(asked['model']));
      if (asked['stream'] === true) {
        response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
        const cut = new UpstreamFault('interrupted', 'The connection to the model server broke.');
        response.end(streamOf(script.bytes, script.request, 11, cut));
        return;
      }
      const { status, body } = replyTo(script);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  client = new OpenAI({
    baseURL: `http://127.0.0.1:${port}/v1`,
    apiKey: 'none',
    maxRetries: 0,
    timeout: 5_000,
  });
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** What the helper makes of the stream, and the texts and arguments as it saw them grow. */
async function streamed(model: string) {
  const stream = client.responses.stream({ model, input: 'hi' });
  const grown: string[] = [];
  stream.on('response.output_text.delta', ({ snapshot }) => grown.push(snapshot));
  stream.on('response.function_call_arguments.delta', ({ snapshot }) => grown.push(snapshot));
  return { response: await stream.finalResponse(), grown };
}

async function plain(model: string) {
  return client.responses.create({ model, input: 'hi' });
}

const usageTold = {
  input_tokens: 7,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 3,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 10,
};

describe('the openai package', () => {
  const expected: Readonly<Record<string, object>> = {
    text: { status: 'completed', output_text: 'Hello', usage: usageTold },
    tools: {
      status: 'completed',
      output_text: 'Both.',
      output: [
        { type: 'message' },
        { type: 'function_call', call_id: 'call_a', name: 'f', arguments: '{"x":1}' },
        { type: 'function_call', call_id: 'call_b', name: 'g', namespace: 'ns', arguments: '{}' },
        { type: 'custom_tool_call', call_id: 'call_c', name: 'patch', input: '*** x' },
      ],
    },
    reasoning: {
      output_text: 'a',
      output: [
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm ok' }] },
        { type: 'message' },
      ],
    },
    summary: {
      output_text: 'a',
      output: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm ok' }] },
        { type: 'message' },
      ],
    },
    refusal: { output_text: '', output: [{ content: [{ type: 'refusal', refusal: 'I will not' }] }] },
    incomplete: {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output_text: 'Hel',
      output: [{ status: 'incomplete' }],
      usage: usageTold,
    },
    citations: {
      output: [
        { content: [{ annotations: [{ type: 'url_citation', url: 'https://a.example', title: 'A' }] }] },
      ],
    },
    structured: { output_text: '{"a":1}' },
    nothing: { status: 'completed', output: [], usage: usageTold },
  };

  it.each(Object.entries(expected))('%s, plain', async (model, response) => {
    expect(await plain(model)).toMatchObject(response);
  });

  it.each(Object.entries(expected))('%s, streamed', async (model, response) => {
    expect((await streamed(model)).response).toMatchObject(response);
  });

  it('sees texts and the arguments of parallel calls grow', async () => {
    expect((await streamed('text')).grown).toEqual(['Hel', 'Hello']);
    expect((await streamed('tools')).grown).toEqual(['Both.', '{"x":', '{"x":1}', '{}']);
  });

  it('parses structured output', async () => {
    const format = { type: 'json_schema' as const, name: 'n', schema: { type: 'object' }, strict: true };
    const parsed = await client.responses.parse({ model: 'structured', input: 'hi', text: { format } });
    expect(parsed.output_text).toBe('{"a":1}');
  });

  it.each([
    ['failed', 'The connection to the model server broke.', 'upstream_error'],
    ['rateLimit', 'try again in 3s', 'rate_limit_exceeded'],
  ])('%s: throws in the middle of a stream', async (model, message, code) => {
    const failure = await streamed(model).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(OpenAI.APIError);
    expect(failure).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it.each([
    ['failed', 502],
    ['rateLimit', 429],
  ])('%s: throws on a plain reply', async (model, status) => {
    await expect(plain(model)).rejects.toMatchObject({ status });
  });
});
