import { describe, expect, it } from 'vitest';
import { readChatBody } from '../../../src/convert/chat-body.ts';
import { openAIFailure } from '../../../src/convert/openai-errors.ts';
import { responsesRefusal } from '../../../src/convert/responses-errors.ts';
import { convertResponsesReply } from '../../../src/convert/responses-reply.ts';
import { readUpstreamError } from '../../../src/convert/upstream-error.ts';
import { UpstreamFault } from '../../../src/convert/upstream-fault.ts';
import { readResponsesStream } from '../../wire/grammar/responses.ts';
import { call, callEntry, chatSse, delta, usageChunk } from './chat-chunks.ts';
import {
  chatOf,
  completion,
  convert,
  dialectWith,
  type Json,
  messagesOf,
  openAI,
  refusalOf,
  replyOf,
  streamOf,
} from './responses-fixtures.ts';

// Bugs that others shipped (formats, Field bugs), as far as Responses callers are concerned.

const stop = delta({}, 'stop');

function read(bytes: Uint8Array, request: Json = {}, cut?: UpstreamFault) {
  const transcript = readResponsesStream(streamOf(bytes, request, bytes.length, cut));
  expect(transcript.problems).toEqual([]);
  return transcript;
}

/** The output of the stream, without ids. */
function outputOf(chunks: readonly unknown[], request: Json = {}): readonly Json[] {
  const { output } = read(chatSse(chunks), request).response;
  return Array.isArray(output) ? output.map(({ id, ...rest }) => rest) : [];
}

function fn(call_id: string, name: string, args: string): Json {
  return { type: 'function_call', call_id, name, arguments: args, status: 'completed' };
}

function text(value: string): Json {
  const content = [{ type: 'output_text', text: value, annotations: [], logprobs: [] }];
  return { type: 'message', status: 'completed', role: 'assistant', content };
}

function types(bytes: Uint8Array): readonly string[] {
  return read(bytes).types;
}

describe('streams', () => {
  it('6.7 chunks with nothing but reasoning_content give a reasoning item', () => {
    expect(outputOf([delta({ reasoning_content: 'hm' }), stop])).toEqual([
      {
        type: 'reasoning',
        status: 'completed',
        summary: [],
        content: [{ type: 'reasoning_text', text: 'hm' }],
      },
    ]);
  });

  it('6.8 reasoning that is sent in two fields is told once', () => {
    const thinking_blocks = [{ type: 'thinking', thinking: 'hm', signature: 's' }];
    expect(outputOf([delta({ reasoning_content: 'hm', thinking_blocks }), stop])).toMatchObject([
      { content: [{ text: 'hm' }] },
    ]);
  });

  it('6.9 no text before its item is announced', () => {
    const seen = types(chatSse([delta({ content: 'a' }), stop]));
    expect(seen.indexOf('response.output_item.added')).toBeLessThan(
      seen.indexOf('response.output_text.delta'),
    );
  });

  it('6.10 content_part.added comes before text', () => {
    const seen = types(chatSse([delta({ content: 'a' }), stop]));
    expect(seen.indexOf('response.content_part.added')).toBe(seen.indexOf('response.output_text.delta') - 1);
  });

  it('6.11 reasoning behind its item, calls closed, parallel calls and reasoning in one assistant message', () => {
    read(
      chatSse([
        delta({ reasoning: 'h' }),
        call(0, 'a', 'f', '{}'),
        call(1, 'b', 'f', '{}'),
        delta({}, 'tool_calls'),
      ]),
    );
    const input = [
      { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'h' }] },
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
      { type: 'function_call', call_id: 'b', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: '1' },
      { type: 'function_call_output', call_id: 'b', output: '2' },
    ];
    const messages = messagesOf(input, dialectWith({ reasoningHistoryField: 'ReasoningContent' }));
    expect(messages).toMatchObject([
      { role: 'assistant', reasoning_content: 'h', tool_calls: [{ id: 'a' }, { id: 'b' }] },
      { role: 'tool', tool_call_id: 'a' },
      { role: 'tool', tool_call_id: 'b' },
    ]);
  });

  it('6.12 response.completed has id, model and output, deltas have their indexes', () => {
    const { events, response } = read(chatSse([delta({ content: 'a' }), stop]));
    expect(response).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      model: 'm',
      output: [{ type: 'message' }],
    });
    const found = events.find((event) => event['type'] === 'response.output_text.delta');
    expect(found).toMatchObject({
      output_index: 0,
      content_index: 0,
      item_id: expect.stringMatching(/^msg_/),
    });
  });

  it('6.13 response.completed holds the whole output', () => {
    expect(outputOf([delta({ content: 'a' }), delta({ content: 'b' }), stop])).toEqual([text('ab')]);
  });

  it('6.14 cached tokens come through a stream', () => {
    const more = { prompt_tokens_details: { cached_tokens: 5 } };
    const { response } = read(chatSse([delta({ content: 'a' }), stop, usageChunk(9, 1, more)]));
    expect(response['usage']).toMatchObject({ input_tokens: 9, input_tokens_details: { cached_tokens: 5 } });
  });

  it('6.15 text behind a call has an index of its own', () => {
    const { events } = read(chatSse([call(0, 'a', 'f', '{}'), delta({ content: 'x' }), stop]));
    const found = events.find((event) => event['type'] === 'response.output_text.delta');
    expect(found).toMatchObject({ output_index: 1 });
  });

  it('6.16 name and arguments on different indexes belong together', () => {
    const chunks = [call(0, 'a', 'f'), call(1, undefined, undefined, '{"x":1}'), delta({}, 'tool_calls')];
    expect(outputOf(chunks)).toEqual([fn('a', 'f', '{"x":1}')]);
  });

  it('6.17 ids are the same in every event, arguments.done is there', () => {
    const { events, response } = read(chatSse([call(0, 'a', 'f', '{}'), delta({}, 'tool_calls')]));
    const ids = events.flatMap((event) => (typeof event['item_id'] === 'string' ? [event['item_id']] : []));
    expect(response['output']).toMatchObject([{ id: ids[0] }]);
    expect(new Set(ids).size).toBe(1);
    expect(events.map((event) => event['type'])).toContain('response.function_call_arguments.done');
  });

  it('6.18 parallel calls that all have index 0 stay apart', () => {
    const chunks = [call(0, 'a', 'f', '{"x":1}'), call(0, 'b', 'g', '{"y":2}'), delta({}, 'tool_calls')];
    expect(outputOf(chunks)).toEqual([fn('a', 'f', '{"x":1}'), fn('b', 'g', '{"y":2}')]);
  });

  it('6.19 an empty name on later chunks changes nothing', () => {
    const chunks = [call(0, 'a', 'f', '{"x"'), call(0, '', '', ':1}'), delta({}, 'tool_calls')];
    expect(outputOf(chunks)).toEqual([fn('a', 'f', '{"x":1}')]);
  });

  it('6.20 a call without arguments has {}', () => {
    expect(outputOf([call(0, 'a', 'f', ''), delta({}, 'tool_calls')])).toEqual([fn('a', 'f', '{}')]);
    expect(replyOf(completion({ tool_calls: [callEntry(0, 'a', 'f', '')] }))['output']).toMatchObject([
      { arguments: '{}' },
    ]);
  });

  it.each([
    [
      '6.40 on the finish chunk',
      [delta({ content: 'a' }), delta({}, 'stop', { usage: { prompt_tokens: 3, completion_tokens: 4 } })],
    ],
    [
      '6.41 on every chunk',
      [
        delta({ content: 'a' }, null, { usage: { prompt_tokens: 3, completion_tokens: 1 } }),
        delta({ content: 'b' }, null, { usage: { prompt_tokens: 3, completion_tokens: 4 } }),
        stop,
      ],
    ],
    [
      '6.42 on a last chunk with choices',
      [
        delta({ content: 'a' }),
        stop,
        delta({ content: '' }, null, { usage: { prompt_tokens: 3, completion_tokens: 4 } }),
      ],
    ],
  ])('%s, usage is read and ends nothing', (_name, chunks) => {
    const { response } = read(chatSse(chunks));
    expect(response).toMatchObject({
      status: 'completed',
      usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
    });
  });

  it('6.45 a broken stream is not a finished turn', () => {
    expect(types(chatSse([delta({ content: 'a' })], { done: false })).at(-1)).toBe('response.failed');
  });

  it('6.46 the terminal event of the family comes after the death of the node', () => {
    const cut = new UpstreamFault('interrupted', 'gone');
    const bytes = chatSse([delta({ content: 'a' })], { done: false });
    expect(read(bytes, {}, cut).types.slice(-2)).toEqual(['error', 'response.failed']);
  });

  it('6.47 characters that are cut in two stay whole', () => {
    const bytes = chatSse([delta({ content: '日本🎉é' }), stop]);
    expect(streamOf(bytes, {}, 1)).toBe(streamOf(bytes));
    expect(streamOf(bytes, {}, 1)).not.toContain('\ufffd');
  });

  it('6.48 CRLF, and data without a space', () => {
    const lf = chatSse([delta({ content: 'a' }), stop]);
    const other = Buffer.from(lf.toString().replaceAll('data: ', 'data:').replaceAll('\n', '\r\n'));
    expect(streamOf(other)).toBe(streamOf(lf));
  });

  it('6.49 comments are no data', () => {
    const bytes = chatSse([delta({ content: 'a' }), stop]);
    const noise = Buffer.from(': OPENROUTER PROCESSING\n\n');
    expect(streamOf(Buffer.concat([noise, bytes]))).toBe(streamOf(bytes));
  });

  it('6.50 no id lines, so that a comment is no event', () => {
    expect(streamOf(chatSse([delta({ content: 'a' }), stop]))).not.toMatch(/^(?:id|retry):/m);
  });

  it('6.51 JSON instead of a stream gives the whole stream', () => {
    const body = JSON.stringify(completion({ content: 'a' }));
    expect(read(Buffer.from(body)).response).toMatchObject({
      status: 'completed',
      output: [{ type: 'message' }],
    });
  });

  it('6.52 6.53 a stream instead of JSON, whatever it is called, is collected', () => {
    const { state } = convert({ model: 'm', input: 'hi' });
    const { json } = convertResponsesReply(readChatBody(chatSse([delta({ content: 'a' }), stop])), state);
    expect(JSON.parse(json)).toMatchObject({ status: 'completed', output: [{ type: 'message' }] });
  });

  it.each([
    ['comments alone', ': x\n\n'],
    ['[DONE] alone', 'data: [DONE]\n\n'],
  ])('6.54 %s is an error of the node, 502', (_name, bytes) => {
    const { state } = convert({ model: 'm', input: 'hi' });
    let caught: unknown;
    try {
      convertResponsesReply(readChatBody(Buffer.from(bytes)), state);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(UpstreamFault);
    expect(caught instanceof UpstreamFault && openAIFailure(caught).status).toBe(502);
    expect(types(Buffer.from(bytes)).slice(-2)).toEqual(['error', 'response.failed']);
  });

  it('6.60 other choices change nothing', () => {
    const other = { choices: [{ index: 1, delta: { content: 'no' }, finish_reason: 'stop' }] };
    expect(outputOf([delta({ content: 'a' }), other, delta({ content: 'b' }), stop])).toEqual([text('ab')]);
  });
});

const png = 'data:image/png;base64,AAAA';

function turn(output: unknown): readonly unknown[] {
  return [
    { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'a', output },
  ];
}

describe('requests', () => {
  it('6.15 every item type that may come back is taken', () => {
    const output = replyOf(
      completion({
        reasoning: 'h',
        content: 'a',
        tool_calls: [callEntry(0, 'a', 'f', '{}'), callEntry(1, 'b', 'p', '{"input":"x"}')],
      }),
      { tools: [{ type: 'custom', name: 'p' }] },
    )['output'];
    const outputs = [
      { type: 'function_call_output', call_id: 'a', output: '1' },
      { type: 'custom_tool_call_output', call_id: 'b', output: '2' },
    ];
    expect(messagesOf([...(Array.isArray(output) ? output : []), ...outputs])).toHaveLength(3);
  });

  it('6.21 the type of a tool is not merged into its schema', () => {
    const parameters = { type: 'object', properties: {} };
    const { tools } = chatOf({ tools: [{ type: 'function', name: 'f', parameters, strict: null }] });
    expect(tools).toEqual([{ type: 'function', function: { name: 'f', parameters } }]);
  });

  it('6.22 images of a tool’s output stay images', () => {
    const image = { type: 'input_image', image_url: png };
    expect(JSON.stringify(messagesOf(turn([image])))).toContain(
      `{"type":"image_url","image_url":{"url":"${png}"}}`,
    );
  });

  it('6.23 a tool message is text, its images follow', () => {
    const messages = messagesOf(
      turn([
        { type: 'input_text', text: 'x' },
        { type: 'input_image', image_url: png },
      ]),
    );
    expect(messages).toMatchObject([{ role: 'assistant' }, { role: 'tool', content: 'x' }, { role: 'user' }]);
  });

  it('6.26 an assistant message between a call and its output does not break the pair', () => {
    const [before, after] = turn('x');
    expect(messagesOf([before, { role: 'assistant', content: 'so' }, after])).toMatchObject([
      { role: 'assistant', content: 'so', tool_calls: [{ id: 'a' }] },
      { role: 'tool', tool_call_id: 'a' },
    ]);
  });

  it('6.27 tools of a namespace are carried and come back with it', () => {
    const tools = [{ type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'f' }] }];
    expect(JSON.stringify(chatOf({ tools })['tools'])).toContain('ns__f');
    expect(outputOf([call(0, 'a', 'ns__f', '{}'), delta({}, 'tool_calls')], { tools })).toEqual([
      { ...fn('a', 'f', '{}'), namespace: 'ns' },
    ]);
  });

  it('6.28 a custom tool is carried and comes back as a custom_tool_call', () => {
    const tools = [{ type: 'custom', name: 'apply_patch' }];
    const chunks = [call(0, 'a', 'apply_patch', '{"input":"*** Begin"}'), delta({}, 'tool_calls')];
    expect(outputOf(chunks, { tools })).toEqual([
      {
        type: 'custom_tool_call',
        call_id: 'a',
        name: 'apply_patch',
        input: '*** Begin',
        status: 'completed',
      },
    ]);
  });

  it('6.29 DeepSeek gets the reasoning of a tool turn back', () => {
    const reasoning = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'h' }] };
    const messages = messagesOf(
      [reasoning, ...turn('x')],
      dialectWith({ reasoningHistoryField: 'ReasoningContent' }),
    );
    expect(messages).toMatchObject([{ reasoning_content: 'h', tool_calls: [{ id: 'a' }] }, { role: 'tool' }]);
  });

  it('6.31 an identifier that is too long is not sent', () => {
    const { user, safety_identifier } = chatOf(
      { user: 'u'.repeat(65), safety_identifier: 's'.repeat(64) },
      openAI,
    );
    expect([user, safety_identifier]).toEqual([undefined, 's'.repeat(64)]);
  });

  it('6.32 long tool names are shortened and come back whole', () => {
    const name = 'mcp__a_server_with_a_long_name__a_tool_with_an_even_longer_name_than_that';
    const tools = [{ type: 'function', name }];
    const [tool] = convert({ model: 'm', input: 'hi', tools }).chat.tools ?? [];
    const short = tool?.function.name ?? '';
    expect(short.length).toBeLessThanOrEqual(64);
    expect(outputOf([call(0, 'a', short, '{}'), stop], { tools })).toEqual([fn('a', name, '{}')]);
  });

  it('6.33 developer goes only to nodes that know it', () => {
    const input = [{ role: 'developer', content: 'x' }];
    expect(messagesOf(input)).toEqual([{ role: 'system', content: 'x' }]);
    expect(messagesOf(input, openAI)).toEqual([{ role: 'developer', content: 'x' }]);
  });

  it('6.34 a system message in the middle can be moved to the front', () => {
    const input = [
      { role: 'user', content: 'a' },
      { role: 'system', content: 'b' },
    ];
    expect(messagesOf(input, dialectWith({ systemPlacement: 'Leading' }))).toEqual([
      { role: 'system', content: 'b' },
      { role: 'user', content: 'a' },
    ]);
  });

  it('6.35 strict is never switched on, the schema never rewritten', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', format: 'x' } } };
    const body = {
      tools: [{ type: 'function', name: 'f', parameters: schema }],
      text: { format: { type: 'json_schema', name: 'n', schema } },
    };
    const { tools, response_format } = chatOf(body);
    expect(JSON.stringify([tools, response_format])).not.toContain('strict');
    expect(tools).toMatchObject([{ function: { parameters: schema } }]);
    expect(response_format).toMatchObject({ json_schema: { schema } });
  });

  it('6.36 effort is not sent to a model that refuses it', () => {
    expect(
      chatOf({ reasoning: { effort: 'high' } }, dialectWith({ reasoningEfforts: [] })),
    ).not.toHaveProperty('reasoning_effort');
  });

  it('6.56 previous_response_id is refused', () => {
    const answer = responsesRefusal(
      refusalOf(() => convert({ model: 'm', input: 'hi', previous_response_id: 'resp_1' })),
    );
    expect(answer).toEqual({
      status: 400,
      body: {
        error: {
          message: "Previous response with id 'resp_1' not found.",
          type: 'invalid_request_error',
          param: 'previous_response_id',
          code: 'previous_response_not_found',
        },
      },
    });
  });

  it('6.59 parallel_tool_calls can be left out, an error in a list is read', () => {
    const tools = [{ type: 'function', name: 'f' }];
    const chat = chatOf({ tools, parallel_tool_calls: false }, dialectWith({ parallelToolCalls: false }));
    expect(chat).not.toHaveProperty('parallel_tool_calls');
    const fault = readUpstreamError(
      400,
      '[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}]',
    );
    expect(openAIFailure(fault)).toMatchObject({ status: 400, body: { error: { message: 'no' } } });
  });
});
