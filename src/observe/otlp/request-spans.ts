import {
  type Attributes,
  type Context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { AccessRecord } from '../access-log.ts';
import { operationOf } from '../operations.ts';
import type { RequestRecord } from '../request-record.ts';
import type { AttemptAbout, AttemptTrace, RequestTrace, Tracing } from '../tracing.ts';
import { readTraceContext, withTraceContext } from './trace-context.ts';

/**
 * Starts one span for each request and a child span for each attempt on a node. Names and attributes follow OpenTelemetry's
 * conventions for HTTP servers and generative AI. Spans hold nothing of a body.
 */
export function createRequestSpans(tracer: Tracer): Tracing {
  return {
    request({ method, route, traceparent, tracestate }) {
      const context = readTraceContext(traceparent, tracestate);
      const attributes: Attributes = { 'http.request.method': method, 'http.route': route };
      const operation = operationOf(route);
      if (operation !== undefined) attributes['gen_ai.operation.name'] = operation;
      const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, context);
      return new RequestSpan(tracer, span, trace.setSpan(context, span), operation);
    },
  };
}

class RequestSpan implements RequestTrace {
  readonly traceId: string;
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #context: Context;
  readonly #operation: string | undefined;
  #attempt: AttemptSpan | undefined;

  constructor(tracer: Tracer, span: Span, context: Context, operation: string | undefined) {
    this.traceId = span.spanContext().traceId;
    this.#tracer = tracer;
    this.#span = span;
    this.#context = context;
    this.#operation = operation;
  }

  attempt(about: AttemptAbout): AttemptTrace {
    const { node, model, number, format, stream } = about;
    const operation = this.#operation ?? 'chat';
    const attributes: Attributes = {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': format === 'messages' || format === 'count_tokens' ? 'anthropic' : 'openai',
      'gen_ai.request.model': model,
      'gen_ai.request.stream': stream,
      'modelgateway.node': node,
      'modelgateway.attempt': number,
      'modelgateway.format': format,
      ...serverOf(about.baseURL),
    };
    const options = { kind: SpanKind.CLIENT, attributes };
    this.#attempt = new AttemptSpan(this.#tracer.startSpan(`${operation} ${model}`, options, this.#context));
    return this.#attempt;
  }

  end(record: AccessRecord): void {
    const { status, asked, key, node, conversion, dropped, firstContentMs, errorCode } = record;
    const outcome = record.broke ?? (status === 499 ? 'cancelled' : 'ok');
    this.#attempt?.end(outcome, record);
    const span = this.#span;
    const attributes: Attributes = {
      'http.response.status_code': status,
      'modelgateway.request_id': record.requestId,
      'modelgateway.attempts': record.attempts,
      ...usageOf(record),
    };
    if (asked !== undefined) attributes['gen_ai.request.model'] = asked;
    if (key !== undefined) attributes['modelgateway.key'] = key;
    if (node !== undefined) attributes['modelgateway.node'] = node;
    if (conversion !== undefined) attributes['modelgateway.conversion'] = conversion;
    if (dropped !== undefined && dropped.length > 0)
      attributes['modelgateway.dropped'] = dropped.slice(0, 50);
    if (firstContentMs !== undefined)
      attributes['gen_ai.response.time_to_first_chunk'] = firstContentMs / 1000;
    const error = errorCode ?? record.broke ?? (status >= 400 ? String(status) : undefined);
    if (error !== undefined) attributes['error.type'] = error;
    span.setAttributes(attributes);
    // A 4xx is the caller's error, not this server's (conventions for HTTP servers); 499 (the caller left) is no error at all.
    if (status >= 500 || record.broke !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }
}

class AttemptSpan implements AttemptTrace {
  readonly #span: Span;
  #ended = false;

  constructor(span: Span) {
    this.#span = span;
  }

  headers(callers: readonly string[]): string[] {
    return withTraceContext(callers, this.#span.spanContext());
  }

  failed(outcome: string): void {
    this.end(outcome);
  }

  end(outcome: string, record?: RequestRecord): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#span.setAttribute('modelgateway.outcome', outcome);
    if (record !== undefined) this.#span.setAttributes(usageOf(record));
    if (outcome !== 'ok') {
      this.#span.setAttribute('error.type', outcome);
      if (outcome !== 'cancelled') this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

function usageOf({ tokens }: RequestRecord): Attributes {
  if (tokens === undefined) return {};
  return {
    'gen_ai.usage.input_tokens': tokens.input,
    'gen_ai.usage.output_tokens': tokens.output,
    'gen_ai.usage.cache_read.input_tokens': tokens.cached,
    'gen_ai.usage.reasoning.output_tokens': tokens.reasoning,
  };
}

/** Cache by base URL: parsing a URL takes as long as a span. */
const servers = new Map<string, Attributes>();
const mostServers = 10_000;

function serverOf(baseURL: string): Attributes {
  const known = servers.get(baseURL);
  if (known !== undefined) return known;
  const url = URL.parse(baseURL);
  const port = url?.protocol === 'https:' ? 443 : 80;
  const made: Attributes =
    url === null ? {} : { 'server.address': url.hostname, 'server.port': Number(url.port) || port };
  if (servers.size >= mostServers) servers.clear();
  servers.set(baseURL, made);
  return made;
}
