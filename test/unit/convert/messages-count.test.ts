import { describe, expect, it } from 'vitest';
import {
  countTokensReply,
  estimateTokens,
  readTokenizeReply,
  tokenizeRequest,
} from '../../../src/convert/messages-count.ts';
import { convertCountTokensRequest } from '../../../src/convert/messages-request.ts';
import { options } from './messages-fixtures.ts';

function estimate(body: object): number {
  return estimateTokens(convertCountTokensRequest({ model: 'm', ...body }, options()).chat);
}

const message = (content: unknown) => ({ messages: [{ role: 'user', content }] });

/** A PNG head with this size. */
function png(width: number, height: number): string {
  const bytes = Buffer.alloc(24);
  bytes.write('\x89PNG\r\n\x1a\n', 'latin1');
  bytes.write('IHDR', 12, 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes.toString('base64');
}

const jpeg = Buffer.from([
  0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc0, 0, 11, 8, 0, 75, 0, 100, 3, 0, 0, 0,
]).toString('base64');
const gif = Buffer.from('GIF89a\x64\x00\x4b\x00', 'latin1').toString('base64');
const image = (data: string) =>
  message([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }]);

describe('count_tokens', () => {
  it.each([
    ['a token per 4 characters and 4 per message', message('x'.repeat(400)), 104],
    ['CJK a token per 1.5', message('日'.repeat(150)), 104],
    ['system', { system: 'x'.repeat(400), ...message('x'.repeat(4)) }, 109],
    ['image by its size', image(png(1000, 750)), 1004],
    ['image that is scaled down', image(png(5000, 5000)), 1604],
    ['JPEG', image(jpeg), 14],
    ['GIF', image(gif), 14],
    ['image of an unknown size', image('AAAA'), 1604],
    ['image url', message([{ type: 'image', source: { type: 'url', url: 'https://a.example/i' } }]), 1604],
  ])('%s', (_, body, tokens) => {
    expect(estimate(body)).toBe(tokens);
  });

  it('counts tool schemas', () => {
    const tools = [{ name: 'f', description: 'x'.repeat(400), input_schema: { type: 'object' } }];
    expect(estimate({ ...message('hi'), tools })).toBeGreaterThan(100);
  });

  it('6.58 is never 0', () => {
    expect(estimate(message('x'))).toBeGreaterThan(0);
    expect(countTokensReply(0)).toEqual({ input_tokens: 1 });
  });

  it('asks vLLM and reads its answer', () => {
    const { chat } = convertCountTokensRequest({ model: 'm', ...message('hi') }, options());
    expect(tokenizeRequest(chat)).toEqual({
      model: 'node-model',
      messages: [{ role: 'user', content: 'hi' }],
      add_generation_prompt: true,
    });
    expect(readTokenizeReply({ count: 7, tokens: [] })).toBe(7);
    for (const body of [null, [], {}, { count: '7' }, { count: -1 }, { count: 1.5 }])
      expect(readTokenizeReply(body)).toBeUndefined();
  });
});
