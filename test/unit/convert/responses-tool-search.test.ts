import { describe, expect, it } from 'vitest';
import { readResponsesStream } from '../../wire/grammar/responses.ts';
import {
  chatOf,
  completion,
  convert,
  type Json,
  messagesOf,
  refusalOf,
  replyOf,
  streamOf,
} from './responses-fixtures.ts';

// Codex CLI looks for the tools of its MCP servers by itself: it declares a search and shows what it found as an output.

const parameters = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };
const search = { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters };
const add = { type: 'function', name: 'add', description: 'Adds.', defer_loading: true, parameters: {} };
const calc = { type: 'namespace', name: 'mcp__calc', description: 'Sums.', tools: [add] };
const call = {
  type: 'tool_search_call',
  id: 'tsc_1',
  call_id: 'c1',
  execution: 'client',
  status: 'completed',
  arguments: { query: 'add' },
};
const found = { type: 'tool_search_output', call_id: 'c1', execution: 'client', status: 'completed' };
const history = [{ role: 'user', content: 'hi' }, call, { ...found, tools: [calc] }];

const namesOf = (body: Json): unknown =>
  (chatOf(body)['tools'] as { function: { name: string } }[] | undefined)?.map((tool) => tool.function.name);

describe('a tool search that the caller runs', () => {
  it('is a function', () => {
    const { chat, dropped } = convert({ model: 'm', input: 'hi', tools: [search] });
    expect(chat.tools).toEqual([
      { type: 'function', function: { name: 'tool_search', description: 'Finds tools.', parameters } },
    ]);
    expect(dropped).toEqual([]);
  });

  it('keeps apart from a function of that name', () => {
    const named = { type: 'function', name: 'tool_search', parameters: {} };
    expect(namesOf({ tools: [named, search] })).toEqual([
      'tool_search',
      expect.stringMatching(/^tool_search_[0-9a-f]{8}$/),
    ]);
  });

  it('is a call and its result in the history, and what it found is offered', () => {
    expect(messagesOf(history, undefined, { tools: [search] })).toEqual([
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'tool_search', arguments: '{"query":"add"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'These tools can be called now: mcp__calc__add' },
    ]);
    expect(namesOf({ input: history, tools: [search] })).toEqual(['tool_search', 'mcp__calc__add']);
    const again = [...history, { ...call, call_id: 'c2' }, { ...found, call_id: 'c2', tools: [calc] }];
    expect(namesOf({ input: again, tools: [search] })).toEqual(['tool_search', 'mcp__calc__add']);
    expect(namesOf({ input: again })).toEqual(['mcp__calc__add']);
  });

  it('may find nothing', () => {
    const input = [call, { ...found, tools: [] }];
    expect(messagesOf(input)).toMatchObject([{}, { role: 'tool', content: 'No tools were found.' }]);
  });

  it('needs its call, and tools that are tools', () => {
    const outputAlone = refusalOf(() => messagesOf([{ ...found, tools: [] }]));
    expect([outputAlone.status, outputAlone.param]).toEqual([400, 'input']);
    expect(refusalOf(() => messagesOf([call, { ...found, tools: [{ type: 'function' }] }])).param).toBe(
      'input[1].tools[0].name',
    );
    expect(refusalOf(() => messagesOf([call, { ...found, tools: 1 }])).param).toBe('input[1].tools');
  });

  it('that a server ran is dropped as ever', () => {
    const server = { execution: 'server', call_id: null };
    const input = [
      { role: 'user', content: 'hi' },
      { ...call, ...server },
      { ...found, ...server, tools: [calc] },
    ];
    const { chat, dropped } = convert({ model: 'm', input, tools: [{ type: 'tool_search' }] });
    expect([chat.messages.length, chat.tools]).toEqual([1, undefined]);
    expect(dropped).toEqual(['tools[0]', 'input[1]', 'input[2]']);
  });
});

describe('the node searches', () => {
  const request = { input: history, tools: [search] };
  const toolCall = (name: string, text: string) => ({
    id: 'n1',
    type: 'function',
    function: { name, arguments: text },
  });

  it.each([
    ['{"query":"sub"}', { query: 'sub' }],
    ['', {}],
    ['no JSON', {}],
  ])('with %j', (text, wanted) => {
    const message = { role: 'assistant', content: null, tool_calls: [toolCall('tool_search', text)] };
    expect(replyOf(completion(message, 'tool_calls'), request)['output']).toEqual([
      {
        type: 'tool_search_call',
        id: expect.stringMatching(/^tsc_/),
        call_id: 'n1',
        execution: 'client',
        arguments: wanted,
        status: 'completed',
      },
    ]);
  });

  it('and calls what was found by its own name', () => {
    const message = { role: 'assistant', content: null, tool_calls: [toolCall('mcp__calc__add', '{}')] };
    expect(replyOf(completion(message, 'tool_calls'), request)['output']).toMatchObject([
      { type: 'function_call', name: 'add', namespace: 'mcp__calc' },
    ]);
  });

  it('in a stream: the item comes whole, without deltas', () => {
    const piece = (text: string) => ({
      choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } }],
    });
    const start = { index: 0, id: 'n1', type: 'function', function: { name: 'tool_search', arguments: '' } };
    const chunks = [
      { choices: [{ index: 0, delta: { role: 'assistant', tool_calls: [start] } }] },
      piece('{"quer'),
      piece('y":"sub"}'),
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      '[DONE]',
    ];
    const lines = chunks.map(
      (chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`,
    );
    const text = streamOf(Buffer.from(lines.join('')), request);
    const { problems, types, response } = readResponsesStream(text);
    expect(problems).toEqual([]);
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(response['output']).toMatchObject([{ type: 'tool_search_call', arguments: { query: 'sub' } }]);
  });
});
