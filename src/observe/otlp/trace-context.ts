import {
  type Context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  TraceFlags,
  trace,
} from '@opentelemetry/api';

/** The trace context that a caller sent (W3C Trace Context §3.2), or a root context if it is not valid. */
export function readTraceContext(traceparent: string | undefined, tracestate: string | undefined): Context {
  const parts = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(traceparent ?? '');
  const [, version, traceId = '', spanId = '', flags = '', rest] = parts ?? [];
  // Later versions may have more fields; version 00 may not.
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined))
    return ROOT_CONTEXT;
  const sampled = Number.parseInt(flags, 16) & 1;
  const spanContext: SpanContext = {
    traceId,
    spanId,
    isRemote: true,
    traceFlags: sampled === 1 ? TraceFlags.SAMPLED : TraceFlags.NONE,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(spanContext) ? trace.setSpanContext(ROOT_CONTEXT, spanContext) : ROOT_CONTEXT;
}

/** The flat headers, with any trace context replaced by this one. */
export function withTraceContext(headers: readonly string[], context: SpanContext): string[] {
  const flat: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2);
    if (!/^trace(?:parent|state)$/i.test(name)) flat.push(name, value);
  }
  const flags = (context.traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0');
  flat.push('traceparent', `00-${context.traceId}-${context.spanId}-${flags}`);
  const state = context.traceState?.serialize() ?? '';
  if (state !== '') flat.push('tracestate', state);
  return flat;
}
