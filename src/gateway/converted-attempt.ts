import type { AttemptTrace } from '../observe/tracing.ts';
import type { Candidate } from '../store/store.ts';
import { type AttemptResult, withoutCredential } from './attempt-result.ts';
import type { Caller } from './caller.ts';
import { Conversion } from './conversion.ts';
import { ConvertedPlain } from './converted-plain.ts';
import type { ConvertedOptions } from './converted-request.ts';
import { ConvertedStreaming } from './converted-stream.ts';
import { NodeCount } from './count-tokens.ts';
import type { ModelRequest } from './model-request.ts';
import type { NodesContext } from './nodes-context.ts';

/** The conversion of a request, made when the first node needs it. */
export function conversionOf({ now, budget }: NodesContext, request: ModelRequest): Conversion {
  const { format, key, body, inspection } = request;
  if (request.conversion !== undefined) return request.conversion;
  if (format === 'chat' || format === 'embeddings') throw new Error(`${format} is passed through everywhere`);
  const { kind, spec } = key.resource;
  const strict = kind === 'APIKey' && spec.conversion === 'Strict';
  request.conversion = new Conversion(format, body.bytes, {
    strict,
    now,
    budget,
    // To be counted, texts must be there.
    longStrings: format === 'count_tokens' ? [] : inspection.longStrings,
  });
  return request.conversion;
}

/** Asks a node in chat-completions for a caller of another format, as the request's conversion has prepared it. */
export function convertedAttempt(
  context: NodesContext,
  caller: Caller,
  request: ModelRequest,
  candidate: Candidate,
  number: number,
  span: AttemptTrace | undefined,
): Promise<AttemptResult> {
  const { node } = candidate;
  const { credentials } = node;
  const { pools, limits, budget, log, reports, conversions } = context;
  if (credentials.state !== 'Resolved') return Promise.resolve(withoutCredential);
  const conversion = conversionOf(context, request);
  conversions.ran(conversion.name, conversion.current.dropped);
  return new Promise((settle) => {
    const options: ConvertedOptions = {
      pool: pools.pool(node.id, credentials.connection),
      connection: credentials.connection,
      caller,
      conversion,
      converted: conversion.current,
      limits,
      budget,
      log,
      candidate,
      reports,
      span,
      headers: [
        'x-model-gateway-node',
        node.id,
        'x-model-gateway-attempts',
        String(number),
        ...conversion.headers,
      ],
      onLost: (lost) => conversions.lost(conversion.name, lost),
      settle: (result) => {
        settle(result);
        if (result.kind === 'failed') conversions.failed(candidate, result.failure);
      },
    };
    if (request.format === 'count_tokens') new NodeCount(options);
    else if (request.inspection.stream) new ConvertedStreaming(options);
    else new ConvertedPlain(options);
  });
}
