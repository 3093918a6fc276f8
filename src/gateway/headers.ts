import type { IncomingHttpHeaders } from 'node:http';
import type { UpstreamHeaders } from '../upstream/headers.ts';
import type { CallerFormat } from './route.ts';

const toUpstream = [
  'content-type',
  'accept',
  'anthropic-version',
  'anthropic-beta',
  'openai-beta',
  'idempotency-key',
  'traceparent',
  'tracestate',
] as const;

const toCaller: ReadonlySet<string> = new Set([
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-processing-ms',
]);

/** What node:http accepts as a header value; anything else from a node is left out rather than break the answer. */
const validValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Sent where a messages caller names no version: Anthropic's API refuses requests without one. */
const defaultAnthropicVersion = '2023-06-01';

/** The caller's headers that a node gets (design: Headers), flat. */
export function upstreamHeaders(headers: IncomingHttpHeaders, format: CallerFormat): string[] {
  const flat: string[] = [];
  for (const name of toUpstream) {
    const value = headers[name];
    if (value !== undefined) flat.push(name, typeof value === 'string' ? value : value.join(', '));
  }
  if (headers['content-type'] === undefined) flat.push('content-type', 'application/json');
  if ((format === 'messages' || format === 'count_tokens') && headers['anthropic-version'] === undefined) {
    flat.push('anthropic-version', defaultAnthropicVersion);
  }
  return flat;
}

/** The node's headers that the caller gets (design: Headers), flat, without `content-type`, behind those of `flat`. */
export function callerHeaders(headers: UpstreamHeaders, flat: string[] = []): string[] {
  headers.forEach((name, value) => {
    const passes =
      toCaller.has(name) || name.startsWith('x-ratelimit-') || name.startsWith('anthropic-ratelimit-');
    if (passes && validValue.test(value)) flat.push(name, value);
  });
  return flat;
}

/** `content-type` and `content-encoding` of an answer whose body is passed on as it is, flat, behind those of `flat`. */
export function bodyHeaders(headers: UpstreamHeaders, flat: string[] = []): string[] {
  for (const name of ['content-type', 'content-encoding'] as const) {
    const value = headers.get(name);
    if (value !== undefined && validValue.test(value)) flat.push(name, value);
  }
  return flat;
}
