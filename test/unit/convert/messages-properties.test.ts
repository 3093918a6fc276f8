import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readChatBody } from '../../../src/convert/chat-body.ts';
import { ConversionError } from '../../../src/convert/conversion-error.ts';
import type { DialectWish } from '../../../src/convert/dialect.ts';
import { convertMessagesReply } from '../../../src/convert/messages-reply.ts';
import { convertMessagesRequest } from '../../../src/convert/messages-request.ts';
import { createMessagesStream } from '../../../src/convert/messages-stream.ts';
import { checkChatRequest } from '../../wire/grammar/chat-request.ts';
import { readMessagesStream } from '../../wire/grammar/messages.ts';
import { anyChunks, chunksOf, soundAnswer } from './chat-arbitraries.ts';
import { chatSse } from './chat-chunks.ts';
import { validRequest } from './messages-arbitraries.ts';
import { options, request, state, streamed } from './messages-fixtures.ts';

const anyDialect: fc.Arbitrary<DialectWish> = fc.record({
  maxTokensField: fc.constantFrom('MaxTokens' as const, 'MaxCompletionTokens' as const),
  systemPlacement: fc.constantFrom('Inline' as const, 'Leading' as const),
  reasoningHistoryField: fc.constantFrom('None' as const, 'ReasoningContent' as const, 'Reasoning' as const),
  toolImages: fc.constantFrom('UserMessage' as const, 'Inline' as const),
  openAIExtras: fc.boolean(),
});

type Json = Record<string, unknown>;

describe('messages requests, any', () => {
  it('that are valid convert to a request that a strict server takes, and stay as they were', () => {
    fc.assert(
      fc.property(validRequest, anyDialect, (body, wish) => {
        const before = JSON.stringify(body);
        const { chat } = convertMessagesRequest(body, options(wish));
        checkChatRequest(chat);
        expect(JSON.stringify(body)).toBe(before);
        expect(JSON.stringify(convertMessagesRequest(body, options(wish)).chat)).toBe(JSON.stringify(chat));
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it('keep tool ids, their inputs and the pairing', () => {
    fc.assert(
      fc.property(validRequest, (body) => {
        const blocks = body.messages.flatMap(({ content }) =>
          Array.isArray(content) ? (content as Json[]) : [],
        );
        const uses = blocks.filter((block) => block['type'] === 'tool_use');
        const { messages } = convertMessagesRequest(body, options()).chat;
        const calls = messages.flatMap((message) =>
          message.role === 'assistant' ? (message.tool_calls ?? []) : [],
        );
        expect(calls.map((call) => [call.id, JSON.parse(call.function.arguments)])).toEqual(
          uses.map((use) => [use['id'], JSON.parse(JSON.stringify(use['input']))]),
        );
        const answered = messages.flatMap((message) =>
          message.role === 'tool' ? [message.tool_call_id] : [],
        );
        expect(answered).toEqual(calls.map((call) => call.id));
      }),
      { numRuns: 200, seed: 7 },
    );
  });

  it('keep every text of a user', () => {
    fc.assert(
      fc.property(validRequest, (body) => {
        const sent = JSON.stringify(convertMessagesRequest(body, options()).chat.messages);
        for (const { role, content } of body.messages) {
          if (role !== 'user' || !Array.isArray(content)) continue;
          for (const block of content as Json[])
            if (block['type'] === 'text') expect(sent).toContain(JSON.stringify(block['text']).slice(1, -1));
        }
      }),
      { numRuns: 200, seed: 7 },
    );
  });

  it('that are nonsense are refused with a ConversionError or converted', () => {
    const nonsense = fc.oneof(
      fc.jsonValue(),
      fc
        .tuple(
          fc.constantFrom(
            ...Object.keys(request()),
            'tools',
            'system',
            'thinking',
            'tool_choice',
            'metadata',
            'output_config',
            'stop_sequences',
            'container',
          ),
          fc.jsonValue(),
        )
        .map(([field, value]) => request({ [field]: value })),
      fc.jsonValue().map((block) => request({ messages: [{ role: 'user', content: [block] }] })),
      fc
        .tuple(
          fc.constantFrom(
            'text',
            'image',
            'document',
            'search_result',
            'tool_result',
            'tool_use',
            'thinking',
          ),
          fc.dictionary(
            fc.constantFrom(
              'text',
              'source',
              'content',
              'title',
              'tool_use_id',
              'input',
              'id',
              'name',
              'thinking',
            ),
            fc.jsonValue(),
          ),
        )
        .map(([type, fields]) =>
          request({
            messages: [
              { role: 'user', content: [{ type, ...fields }] },
              { role: 'assistant', content: [{ type, ...fields }] },
            ],
          }),
        ),
      fc
        .dictionary(fc.constantFrom('name', 'type', 'input_schema', 'strict', 'description'), fc.jsonValue())
        .map((tool) => request({ tools: [tool] })),
    );
    fc.assert(
      fc.property(nonsense, (body) => {
        try {
          checkChatRequest(convertMessagesRequest(body, options()).chat);
        } catch (error) {
          if (!(error instanceof ConversionError)) throw error;
          expect(error.status).toBe(400);
        }
      }),
      { numRuns: 500, seed: 7 },
    );
  });
});

describe('chat streams, any', () => {
  it('become a stream that the grammar accepts', () => {
    fc.assert(
      fc.property(anyChunks, fc.boolean(), (chunks, done) => {
        readMessagesStream(streamed(chatSse(chunks, { done })), { mayBeCut: true });
      }),
      { numRuns: 2_000, seed: 7 },
    );
  });

  it('give the same bytes however they are cut', () => {
    fc.assert(
      fc.property(
        anyChunks,
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.integer({ min: 1, max: 40 }),
        (chunks, eol, size) => {
          expect(streamed(chatSse(chunks, { eol }), state(), size)).toBe(streamed(chatSse(chunks)));
        },
      ),
      { numRuns: 300, seed: 7 },
    );
  });

  it('that are garbage never throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 1, max: 20 }), (bytes, size) => {
        const stream = createMessagesStream(state());
        for (let at = 0; at < bytes.length; at += size) stream.push(bytes.subarray(at, at + size));
        stream.end();
        expect(stream.done || stream.fault !== undefined).toBe(true);
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it('keep text, reasoning, ids, inputs and order', () => {
    fc.assert(
      fc.property(soundAnswer, fc.integer({ min: 1, max: 30 }), (answer, size) => {
        const { content } = readMessagesStream(streamed(chatSse(chunksOf(answer, size))));
        const texts = content.flatMap((block) => (block['type'] === 'text' ? [block['text']] : [])).join('');
        const whole = answer.texts.join('');
        expect(texts).toBe(whole.trim() === '' ? '' : whole);
        const thoughts = content
          .flatMap((block) => (block['type'] === 'thinking' ? [block['thinking']] : []))
          .join('');
        const reasoning = answer.reasoning.join('');
        expect(thoughts).toBe(reasoning.trim() === '' ? '' : reasoning);
        const uses = content.filter((block) => block['type'] === 'tool_use');
        expect(uses.map((use) => [use['id'], use['name'], use['input']])).toEqual(
          answer.calls.map(({ id, name, input }) => [id, name, JSON.parse(JSON.stringify(input))]),
        );
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it('say the same streamed and plain, and come back as history', () => {
    fc.assert(
      fc.property(soundAnswer, (answer) => {
        const bytes = chatSse(chunksOf(answer, 5));
        const plain = JSON.parse(convertMessagesReply(readChatBody(bytes), state()).json) as Json;
        const { content, stopReason } = readMessagesStream(streamed(bytes));
        expect(plain['content']).toEqual(content);
        expect(plain['stop_reason']).toBe(stopReason);
        const results = answer.calls
          .toReversed()
          .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: id }));
        const messages = [
          { role: 'user', content: 'go' },
          { role: 'assistant', content },
          { role: 'user', content: [...results, { type: 'text', text: 'on' }] },
        ];
        const { chat } = convertMessagesRequest(
          request({ messages }),
          options({ reasoningHistoryField: 'ReasoningContent' }),
        );
        checkChatRequest(chat);
        const assistant = chat.messages.find((message) => message.role === 'assistant');
        const text = answer.texts.join('');
        expect(assistant?.content ?? '').toBe(text.trim() === '' ? '' : text);
        expect(
          (assistant?.tool_calls ?? []).map((call) => [
            call.id,
            call.function.name,
            JSON.parse(call.function.arguments),
          ]),
        ).toEqual(answer.calls.map(({ id, name, input }) => [id, name, JSON.parse(JSON.stringify(input))]));
      }),
      { numRuns: 300, seed: 7 },
    );
  });
});
