import type { AttemptTrace } from '../../observe/tracing.ts';
import type { Candidate } from '../../store/store.ts';
import type { ModelRequest } from '../admission/model-request.ts';
import type { Caller } from '../answer/caller.ts';
import { type AttemptResult, withoutCredential } from '../attempt/failure.ts';
import { servedHeaders } from '../attempt/headers.ts';
import type { Place } from '../attempt/node-loads.ts';
import type { NodesContext } from '../attempt/nodes-context.ts';
import { conversionOf } from './convert-for.ts';
import { ConvertedPlain } from './converted-plain.ts';
import type { ConvertedOptions } from './converted-request.ts';
import { ConvertedStreaming } from './converted-stream.ts';
import { NodeCount } from './count-tokens.ts';

/** Asks a node in chat-completions for a caller of another format, as the request's conversion has prepared it. */
export function convertedAttempt(
  context: NodesContext,
  caller: Caller,
  request: ModelRequest,
  candidate: Candidate,
  number: number,
  span: AttemptTrace | undefined,
  place: Place | undefined,
): Promise<AttemptResult> {
  const { node, model } = candidate;
  const { credentials } = node;
  const { pools, log, reports, conversions, largeWork } = context;
  // A request has one place at a node, however many choices it asks for.
  const hasBound = node.resource.spec.concurrency !== undefined;
  const limits = hasBound ? { ...context.limits, choicesAtOnce: 1 } : context.limits;
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
      idempotencyKey: request.idempotencyKey,
      limits,
      share: request.share,
      largeWork,
      log,
      candidate,
      place,
      reports,
      span,
      headers: [...servedHeaders(node.id, model, request.inspection.model, number), ...conversion.headers],
      onLost: (lost) => conversions.lost(conversion.name, lost),
      settle: (result) => {
        settle(result);
        if (typeof result === 'string') return;
        conversions.failed(candidate, result).catch((error: unknown) => caller.caught('answer', error));
      },
    };
    if (request.format === 'count_tokens') new NodeCount(options);
    else if (request.inspection.stream) new ConvertedStreaming(options);
    else new ConvertedPlain(options);
  });
}
