import { expect, test } from 'vitest';
import { boundaryOf, checkJsonType, formType } from '../../../../src/gateway/admission/content-type.ts';
import { GatewayError } from '../../../../src/gateway/errors/errors.ts';

function refusal(act: () => unknown): string {
  try {
    return String(act());
  } catch (error) {
    if (error instanceof GatewayError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

// What curl, browsers, httpx, Go, .NET and Apache's client send.
test.each([
  [
    'multipart/form-data; boundary=------------------------d74496d66958873e',
    '------------------------d74496d66958873e',
  ],
  [
    'multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW',
    '----WebKitFormBoundary7MA4YWxkTrZu0gW',
  ],
  ['multipart/form-data; boundary="1f5a-8c"', '1f5a-8c'],
  ['Multipart/Form-Data;BOUNDARY=a', 'a'],
  ['multipart/form-data; charset=UTF-8; boundary=a', 'a'],
  ['multipart/form-data; boundary="=_a:b(c)"; charset="utf-8"', '=_a:b(c)'],
])('%s', (type, boundary) => expect(boundaryOf(type)).toBe(boundary));

test.each([undefined, 'application/json', 'application/json; charset=utf-8', 'application/problem+json'])(
  '%s is JSON',
  (type) => {
    expect(boundaryOf(type)).toBe(undefined);
    expect(checkJsonType(type)).toBe(undefined);
  },
);

test.each([
  ['multipart/form-data', 'names no boundary'],
  ['multipart/form-data; boundary=', '1 to 70'],
  ['multipart/form-data; boundary=""', '1 to 70'],
  ['multipart/form-data; boundary="a b"', '1 to 70'],
  ['multipart/form-data; boundary="a\\"b"', 'not boundary'],
  [`multipart/form-data; boundary=${'a'.repeat(71)}`, '1 to 70'],
  ['multipart/form-data; boundary=a; boundary=b', 'two boundaries'],
  ['multipart/form-data; boundary=a; Boundary=a', 'two boundaries'],
  ['multipart/form-data; boundary=a; charset=utf-16', 'charset'],
  ["multipart/form-data; boundary*=utf-8''a", 'not boundary'],
  ['multipart/form-data; boundary*0=a; boundary*1=b', 'not boundary'],
  ['multipart/form-data; boundary=a; x=y', 'not boundary'],
  ['multipart/form-data; boundary =a', 'not boundary'],
  ['multipart/form-data; boundary=a, multipart/form-data; boundary=b', 'not boundary'],
])('%s is refused', (type, reason) => {
  expect(refusal(() => boundaryOf(type))).toMatch(/^invalid_multipart: /);
  expect(refusal(() => boundaryOf(type))).toContain(reason);
});

test.each(['multipart/mixed; boundary=a', 'multipart/form-datax; boundary=a', 'text/plain', ''])(
  '%s is another type',
  (type) => expect(refusal(() => boundaryOf(type))).toMatch(/^unsupported_media_type: /),
);

test('the chat path takes no multipart', () => {
  expect(refusal(() => checkJsonType('multipart/form-data; boundary=a'))).toMatch(/^unsupported_media_type/);
});

test.each([
  ['a-b_c.d+e', 'multipart/form-data; boundary=a-b_c.d+e'],
  ['a:b', 'multipart/form-data; boundary="a:b"'],
])('a node is sent the boundary %s as %s', (boundary, type) => {
  expect(formType(boundary)).toBe(type);
  expect(boundaryOf(type)).toBe(boundary);
});
