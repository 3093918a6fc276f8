import type { IncomingHttpHeaders } from 'node:http';
import type { CallerFormat } from '../../routing/caller-format.ts';
import type { UpstreamHeaders } from '../../upstream/headers.ts';
import { formType } from '../admission/content-type.ts';
import { hopsHeader, nextHop } from '../admission/hops.ts';

const toCaller: ReadonlySet<string> = new Set([
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-processing-ms',
]);

/** What node:http accepts as a header value. It throws for other values, so those of nodes are left out. */
const validValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Sent if a caller of Messages names no version: Anthropic's API refuses requests without one. */
const defaultAnthropicVersion = '2023-06-01';

/**
 * The caller's headers that a node gets, and the hop count, flat. `idempotencyKey` replaces the caller's own, and
 * `boundary` (of a multipart body) its content-type. Throws GatewayError as `nextHop` does.
 */
export function upstreamHeaders(
  headers: IncomingHttpHeaders,
  format: CallerFormat,
  idempotencyKey: string | undefined,
  boundary?: string,
): string[] {
  const type = boundary === undefined ? headers['content-type'] : formType(boundary);
  const flat = ['content-type', type ?? 'application/json'];
  // Written out: V8 takes three times as long to look the names up in a loop.
  add(flat, 'accept', headers.accept);
  add(flat, 'anthropic-version', headers['anthropic-version'] ?? impliedVersion(format));
  add(flat, 'anthropic-beta', headers['anthropic-beta']);
  add(flat, 'openai-beta', headers['openai-beta']);
  add(flat, 'idempotency-key', idempotencyKey);
  add(flat, 'traceparent', headers['traceparent']);
  add(flat, 'tracestate', headers['tracestate']);
  flat.push(hopsHeader, nextHop(headers));
  return flat;
}

function add(flat: string[], name: string, value: string | string[] | undefined): void {
  if (value !== undefined) flat.push(name, typeof value === 'string' ? value : value.join(', '));
}

function impliedVersion(format: CallerFormat): string | undefined {
  return format === 'messages' || format === 'count_tokens' ? defaultAnthropicVersion : undefined;
}

/**
 * The headers that name the node, its model if that is not the name that the caller sent, and the number of attempts, flat. A
 * model name is percent-encoded if it holds other characters than visible ASCII and blanks.
 */
export function servedHeaders(node: string, model: string, asked: string, attempts: number): string[] {
  const headers = ['x-model-gateway-node', node, 'x-model-gateway-attempts', String(attempts)];
  if (model !== asked) {
    headers.push('x-model-gateway-model', /^[\x20-\x7e]*$/.test(model) ? model : encodeURIComponent(model));
  }
  return headers;
}

/** Appends the node's headers that the caller gets, but `content-type`, to `flat`, and returns it. */
export function callerHeaders(headers: UpstreamHeaders, flat: string[] = []): string[] {
  headers.forEach((name, value) => {
    const passes =
      toCaller.has(name) || name.startsWith('x-ratelimit-') || name.startsWith('anthropic-ratelimit-');
    if (passes && validValue.test(value)) flat.push(name, value);
  });
  return flat;
}

/** Whether the body of an answer is an event stream, by its content-type. */
export function isEventStream(headers: UpstreamHeaders): boolean {
  return /^\s*text\/event-stream\s*(?:;|$)/i.test(headers.get('content-type') ?? '');
}

/** Appends `content-type` and `content-encoding` of a body that is passed on unchanged to `flat`, and returns it. */
export function bodyHeaders(headers: UpstreamHeaders, flat: string[] = []): string[] {
  for (const name of ['content-type', 'content-encoding'] as const) {
    const value = headers.get(name);
    if (value !== undefined && validValue.test(value)) flat.push(name, value);
  }
  return flat;
}
