import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readChatBody } from '../../../src/convert/chat-body.ts';
import { convertResponsesReply } from '../../../src/convert/responses-reply.ts';
import { createResponsesStream, type ResponsesOpened } from '../../../src/convert/responses-stream.ts';
import { UpstreamFault } from '../../../src/convert/upstream-fault.ts';
import { checkChatRequest } from '../../wire/grammar/chat-request.ts';
import { readResponsesStream, responseProblems } from '../../wire/grammar/responses.ts';
import { anyChunks, chunksOf, soundAnswer } from './chat-arbitraries.ts';
import { chatSse } from './chat-chunks.ts';
import { anyDialect, validResponsesRequest } from './responses-arbitraries.ts';
import { convert, dialectWith, type Json, messagesOf, streamOf } from './responses-fixtures.ts';

type Items = readonly Json[];

function listed(value: unknown): Items {
  return Array.isArray(value) ? value : [];
}

function ofType(items: Items, pattern: RegExp): Items {
  return items.filter((item) => pattern.test(String(item['type'])));
}

describe('Responses requests, any', () => {
  it('that are valid convert to a request that a strict server takes, and stay as they were', () => {
    fc.assert(
      fc.property(validResponsesRequest, anyDialect, (body, wish) => {
        const before = JSON.stringify(body);
        const { chat } = convert(body, dialectWith(wish));
        checkChatRequest(chat);
        expect(JSON.stringify(body)).toBe(before);
        expect(JSON.stringify(convert(body, dialectWith(wish)).chat)).toBe(JSON.stringify(chat));
      }),
      { numRuns: 150, seed: 7 },
    );
  });

  it('keep calls, their order, their arguments and the pairing with their outputs', () => {
    fc.assert(
      fc.property(validResponsesRequest, (body) => {
        const { chat, state } = convert(body);
        const items: Items = body.input.map((item) => ({ ...item }));
        const calls = ofType(items, /^(?:function|custom_tool|tool_search)_call$/);
        const outputs = ofType(items, /(?:_call|_search)_output$/).map((item) => item['call_id']);
        const sent = chat.messages.flatMap((message) =>
          message.role === 'assistant' ? (message.tool_calls ?? []) : [],
        );
        expect(sent.map((call) => call.id)).toEqual(calls.map((call) => call['call_id']));
        expect(sent.map((call) => call.function.arguments)).toEqual(
          calls.map(({ arguments: text, input }) =>
            typeof text === 'string' ? text : JSON.stringify(text ?? { input }),
          ),
        );
        expect(sent.map((call) => state.names.origin(call.function.name).name)).toEqual(
          calls.map((call) => call['name'] ?? 'tool_search'),
        );
        const answered = chat.messages.flatMap((message) =>
          message.role === 'tool' ? [message.tool_call_id] : [],
        );
        expect(answered.toSorted()).toEqual(outputs.toSorted());
      }),
      { numRuns: 120, seed: 7 },
    );
  });

  it('keep every text', () => {
    fc.assert(
      fc.property(validResponsesRequest, (body) => {
        const chat = JSON.stringify(convert(body).chat.messages);
        const items: Items = body.input.map((item) => ({ ...item }));
        for (const { content, role } of items.filter((item) => 'role' in item)) {
          const texts =
            typeof content === 'string'
              ? [content]
              : listed(content).map((part) => String(part['text'] ?? ''));
          expect(role).toMatch(/^(?:user|system|developer|assistant)$/);
          for (const text of texts)
            if (text.trim() !== '') expect(chat).toContain(JSON.stringify(text).slice(1, -1));
        }
      }),
      { numRuns: 120, seed: 7 },
    );
  });
});

describe('Responses streams, any', () => {
  const tools = [{ type: 'custom', name: 'g' }];
  const request = { tools, reasoning: { summary: 'auto' } };

  it('that a node may send become streams that the grammar takes, however they are cut', () => {
    fc.assert(
      fc.property(
        anyChunks,
        fc.boolean(),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        (chunks, done, size, summary) => {
          const bytes = chatSse(chunks, { done });
          const asked = summary ? request : { tools };
          const whole = streamOf(bytes, asked);
          expect(readResponsesStream(whole).problems).toEqual([]);
          expect(streamOf(bytes, asked, size)).toBe(whole);
        },
      ),
      { numRuns: 250, seed: 7 },
    );
  });

  it('stay sound with keep-alives anywhere, and where other nodes take over before the first content', () => {
    const attempts = fc.array(fc.tuple(anyChunks, fc.boolean()), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(
        attempts,
        fc.integer({ min: 1, max: 60 }),
        fc.infiniteStream(fc.boolean()),
        (nodes, size, alive) => {
          const out: string[] = [];
          let opened: ResponsesOpened | undefined;
          let last = createResponsesStream(convert({ model: 'm', input: 'hi', stream: true }).state);
          for (const [chunks, done] of nodes) {
            const stream = createResponsesStream(
              convert({ model: 'm', input: 'hi', stream: true }).state,
              opened,
            );
            const bytes = chatSse(chunks, { done });
            for (let at = 0; at < bytes.length; at += size) {
              const given = stream.push(bytes.subarray(at, at + size));
              if (given.length > 0) expect(stream.hasContent).toBe(true);
              out.push(...given);
              if (alive.next().value === true && stream.fault === undefined) out.push(...stream.keepAlive());
            }
            out.push(...stream.end());
            opened = stream.opened;
            last = stream;
            if (stream.fault === undefined || stream.hasContent) break;
          }
          if (last.fault !== undefined) out.push(...last.fail(last.fault));
          expect(last.done).toBe(true);
          expect(readResponsesStream(out.join('')).problems).toEqual([]);
        },
      ),
      { numRuns: 150, seed: 7 },
    );
  });

  it('of noise end as failures, never as finished', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const { problems, types } = readResponsesStream(streamOf(bytes, {}, bytes.length || 1));
        expect(problems).toEqual([]);
        expect(types.at(-1)).toBe('response.failed');
      }),
      { numRuns: 120, seed: 7 },
    );
  });

  it('say the same as the whole reply', () => {
    fc.assert(
      fc.property(anyChunks, (chunks) => {
        const bytes = chatSse(chunks);
        const { response } = readResponsesStream(streamOf(bytes));
        let reply: Json;
        try {
          const answer = readChatBody(bytes);
          reply = JSON.parse(convertResponsesReply(answer, convert({ model: 'm', input: 'hi' }).state).json);
        } catch (error) {
          if (!(error instanceof UpstreamFault)) throw error;
          expect(response['status']).toBe('failed');
          return;
        }
        expect(responseProblems(reply)).toEqual([]);
        expect(response['status']).toBe(reply['status']);
        expect(response['usage']).toEqual(reply['usage']);
        const said = (value: unknown, type: string) =>
          ofType(listed(value), new RegExp(`^${type}$`))
            .flatMap((item) => listed(item['content']))
            .map((part) => part['text'] ?? '')
            .join('');
        for (const type of ['message', 'reasoning'])
          expect(said(response['output'], type)).toBe(said(reply['output'], type));
        const calls = (value: unknown) =>
          ofType(listed(value), /_call$/).map((item) => [item['name'], item['arguments']]);
        expect(calls(response['output'])).toEqual(calls(reply['output']));
      }),
      { numRuns: 150, seed: 7 },
    );
  });
});

describe('a round trip', () => {
  it('keeps reasoning, text, tool ids, names, arguments and their order', () => {
    fc.assert(
      fc.property(soundAnswer, fc.integer({ min: 1, max: 9 }), fc.boolean(), (answer, size, summary) => {
        const asked = summary ? { reasoning: { summary: 'auto' } } : {};
        const { response, problems } = readResponsesStream(streamOf(chatSse(chunksOf(answer, size)), asked));
        expect(problems).toEqual([]);
        const output = listed(response['output']);
        const results = ofType(output, /^function_call$/).map((item) => ({
          type: 'function_call_output',
          call_id: item['call_id'],
          output: 'r',
        }));
        const dialect = dialectWith({ reasoningHistoryField: 'ReasoningContent' });
        const messages = listed(
          messagesOf([{ role: 'user', content: 'q' }, ...output, ...results], dialect),
        ).slice(1);
        const [turn, ...tools] = messages;
        const text = answer.texts.join('');
        const reasoning = answer.reasoning.join('');
        if (text === '' && answer.calls.length === 0) {
          expect(messages).toEqual([]);
          return;
        }
        expect(turn?.['reasoning_content'] ?? '').toBe(reasoning);
        expect(turn?.['content'] ?? '').toBe(text.trim() === '' && answer.calls.length > 0 ? '' : text);
        const calls = listed(turn?.['tool_calls']).map((call) => [call['id'], call['function']]);
        expect(calls).toEqual(
          answer.calls.map(({ id, name, input }) => [id, { name, arguments: JSON.stringify(input) }]),
        );
        expect(tools.map((message) => message['tool_call_id'])).toEqual(answer.calls.map(({ id }) => id));
      }),
      { numRuns: 120, seed: 7 },
    );
  });
});
