import { expect, test } from 'vitest';
import { RequestBody } from '../../../../src/gateway/admission/body.ts';
import { BufferBudget } from '../../../../src/gateway/admission/buffer-budget.ts';

const size = 300_000;

function bodyWith(...readers: { readonly sent: boolean }[]): RequestBody {
  const body = new RequestBody(Buffer.from(new ArrayBuffer(size)), size, new BufferBudget(size).of('key'));
  for (const reader of readers) body.lend(reader);
  return body;
}

test('the memory itself goes to the thread and comes back', () => {
  const body = bodyWith({ sent: true });
  const lent = body.lendBytes();
  expect([lent.length, body.bytes.length]).toEqual([size, 0]);
  body.putBack(lent);
  expect(body.bytes.buffer).toBe(lent.buffer);
});

test('memory that a failed attempt still writes to its node stays here: the thread gets a copy', () => {
  const body = bodyWith({ sent: true }, { sent: false });
  const written = body.bytes;
  const lent = body.lendBytes();
  expect(lent.buffer).not.toBe(written.buffer);
  structuredClone(lent, { transfer: [lent.buffer] });
  expect(written.length).toBe(size);
  expect(body.bytes).toBe(written);
});
