import { describe, expect, test } from 'vitest';
import { scopedIdempotencyKey } from '../../../../src/gateway/attempt/idempotency-key.ts';

const owner = { namespace: 'team-a', name: 'app', uid: '1' };
const scoped = (text: string, more: { namespace?: string; name?: string; uid?: string } = {}) =>
  scopedIdempotencyKey({ 'idempotency-key': text }, { ...owner, ...more });

describe('an idempotency key as a node gets it', () => {
  test('is the same in every process', () => {
    expect(scoped('order-1')).toBe('mg-uOoLVnBPI9wDwNXe_zXnbZ2FTUiNGXINN1rnAoj6YfY');
  });

  test('differs with the text, and with each thing that sets one key resource apart from another', () => {
    const others = [
      scoped('order-2'),
      scoped('order-1', { namespace: 'team-b' }),
      scoped('order-1', { name: 'other' }),
      scoped('order-1', { uid: '2' }),
      scopedIdempotencyKey({ 'idempotency-key': 'order-1' }, { namespace: 'team-a', name: 'app' }),
      // The same characters in all, cut elsewhere.
      scoped('order-1', { namespace: 'team', name: '-aapp' }),
      scoped('1order-1', { uid: '' }),
      scoped('","order-1', { uid: '1' }),
    ];
    expect(new Set([scoped('order-1'), ...others]).size).toBe(others.length + 1);
  });

  test.each(['a', 'é\u00ff', 'y'.repeat(10_000)])('is a short visible token: %j', (text) => {
    expect(scoped(text)).toMatch(/^mg-[\w-]{43}$/);
  });

  test.each([undefined, '', []])('is none if the caller names none: %j', (text) => {
    expect(scopedIdempotencyKey({ 'idempotency-key': text }, owner)).toBeUndefined();
  });
});
