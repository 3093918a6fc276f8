import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messagesFailure } from '../../../src/convert/messages-errors.ts';
import { readUpstreamError } from '../../../src/convert/upstream-error.ts';
import { readMessagesStream } from '../../wire/grammar/messages.ts';
import { anyChunks, chunksOf, soundAnswer } from './chat-arbitraries.ts';
import { chatSse, delta } from './chat-chunks.ts';
import { streamed } from './messages-fixtures.ts';

/** The official client, answered with this text; no socket is opened. */
function client(body: string, status = 200): Anthropic {
  const headers = {
    'content-type': status === 200 ? 'text/event-stream; charset=utf-8' : 'application/json',
  };
  return new Anthropic({
    apiKey: 'none',
    maxRetries: 0,
    fetch: async () => new Response(body, { status, headers }),
  });
}

const request = { model: 'm', max_tokens: 10, messages: [{ role: 'user' as const, content: 'hi' }] };

async function finalMessage(stream: string): Promise<Anthropic.Message> {
  return client(stream).messages.stream(request).finalMessage();
}

describe('the official SDK', () => {
  it('puts the same message together as the grammar', async () => {
    await fc.assert(
      fc.asyncProperty(soundAnswer, async (answer) => {
        const out = streamed(chatSse(chunksOf(answer, 7)));
        const expected = readMessagesStream(out);
        const message = await finalMessage(out);
        expect(JSON.parse(JSON.stringify(message.content))).toEqual(expected.content);
        expect(message.stop_reason).toBe(expected.stopReason);
      }),
      { numRuns: 60, seed: 7 },
    );
  });

  it('takes every stream that ends in order, and raises the error of every other', async () => {
    await fc.assert(
      fc.asyncProperty(anyChunks, async (chunks) => {
        const out = streamed(chatSse(chunks));
        const { error } = readMessagesStream(out, { mayBeCut: true });
        if (error === undefined) await finalMessage(out);
        else await expect(finalMessage(out)).rejects.toThrow(Anthropic.APIError);
      }),
      { numRuns: 150, seed: 7 },
    );
  });

  it('reads usage, and the error of a stream that broke after content', async () => {
    const usage = { usage: { prompt_tokens: 7, completion_tokens: 3 } };
    const message = await finalMessage(
      streamed(chatSse([delta({ content: 'a' }), delta({}, 'stop', usage)])),
    );
    expect(message.usage).toMatchObject({ input_tokens: 7, output_tokens: 3 });
    const broken = streamed(chatSse([delta({ content: 'a' })], { done: false }));
    await expect(finalMessage(broken)).rejects.toThrow(/ended its answer before it was complete/);
  });

  it.each([
    [400, Anthropic.BadRequestError],
    [404, Anthropic.NotFoundError],
    [429, Anthropic.RateLimitError],
    [500, Anthropic.InternalServerError],
    [503, Anthropic.InternalServerError],
  ])('knows the error of status %i', async (status, kind) => {
    const failure = messagesFailure(readUpstreamError(status, '{"error":{"message":"because"}}'));
    const call = client(JSON.stringify(failure.body), failure.status).messages.create(request);
    await expect(call).rejects.toThrow(kind);
    await expect(call).rejects.toThrow(/because/);
  });
});
