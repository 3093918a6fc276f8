import { describe, expect, it } from 'vitest';
import { isPacked, packSignatures, unpackSignatures } from '../../../src/convert/kept-signatures.ts';
import { limits } from '../../../src/convert/limits.ts';

const kept = {
  calls: { call_1: { google: { thought_signature: 'CsgBAVKh/+=' } }, __proto: { a: 1 } },
  message: { google: { thought_signature: 'x' } },
  details: [
    { type: 'reasoning.encrypted', data: 'gAAAAA', format: 'google-gemini-v1', index: 0 },
    { type: 'reasoning.text', text: 'Grübelei 🙂', signature: null },
  ],
};

function packed(value: unknown): string {
  return `mgw1.${Buffer.from(JSON.stringify(value)).toString('base64url')}`;
}

describe('signatures that a caller carries', () => {
  it('come back as they were', () => {
    const text = packSignatures(kept, 'gemini-3-pro') ?? '';
    expect(text).toMatch(/^mgw1\.[\w-]+$/);
    expect(isPacked(text)).toBe(true);
    expect(unpackSignatures(text, 'gemini-3-pro')).toEqual(kept);
  });

  it('are for the model that made them', () => {
    expect(unpackSignatures(packSignatures(kept, 'gemini-3-pro') ?? '', 'gpt-5')).toBeUndefined();
  });

  it('are not carried beyond their bound, neither way', () => {
    const large = { message: { text: 'x'.repeat(limits.keptSignatures) } };
    expect(packSignatures(large, 'm')).toBeUndefined();
    expect(unpackSignatures(`mgw1.${'A'.repeat(limits.keptSignatures * 4)}`, 'm')).toBeUndefined();
  });

  it.each([
    ['nothing', ''],
    ["Anthropic's signature", 'ErUBCkYIBRgCIkDJ+/=='],
    ["OpenAI's encrypted reasoning", 'gAAAAABpYw-_'],
    ['another version', `mgw2.${Buffer.from('{"model":"m"}').toString('base64url')}`],
    ['no JSON', 'mgw1.AAAA'],
    ['no object', packed([1])],
    ['no model', packed({ calls: {} })],
  ])('are not read from %s', (_, text) => {
    expect(unpackSignatures(text, 'm')).toBeUndefined();
  });

  it('are left out where a forged text has something else or something too deep', () => {
    let deep: object = {};
    for (let level = 0; level <= limits.nesting; level++) deep = { deep };
    const forged = { model: 'm', calls: { a: 1, b: deep, c: { d: 1 } }, message: [], details: [1, deep, {}] };
    expect(unpackSignatures(packed(forged), 'm')).toEqual({ calls: { c: { d: 1 } }, details: [{}] });
  });
});
