import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConversionError } from '../convert/conversion-error.ts';
import { type CallerFormat, endpoints, isEndpoint } from '../routing/caller-format.ts';
import type { KeyEntry, View } from '../store/store.ts';
import type { Deadlines } from '../upstream/deadlines.ts';
import { authenticate } from './admission/authenticate.ts';
import { type RequestBody, readBody } from './admission/body.ts';
import type { BufferBudget, BufferShare } from './admission/buffer-budget.ts';
import { boundaryOf, checkJsonType } from './admission/content-type.ts';
import { inspectBody } from './admission/inspect-body.ts';
import type { FormOptions } from './admission/inspect-form.ts';
import { inspectLarge } from './admission/inspect-large.ts';
import type { ModelRequest } from './admission/model-request.ts';
import { sessionOf } from './admission/session.ts';
import { Caller } from './answer/caller.ts';
import { CallerGone, stillThere } from './answer/caller-gone.ts';
import { answerFailure } from './attempt/answer-failure.ts';
import { internalError } from './attempt/attempt-end.ts';
import { type NoAnswer, ownFailure } from './attempt/failure.ts';
import { servedHeaders, upstreamHeaders } from './attempt/headers.ts';
import { scopedIdempotencyKey } from './attempt/idempotency-key.ts';
import type { NodesContext } from './attempt/nodes-context.ts';
import { tryNodes } from './attempt/try-nodes.ts';
import type { Conversion } from './conversion/conversion.ts';
import { GatewayError } from './errors/errors.ts';
import type { ErrorShape } from './errors/wire-errors.ts';
import { quietly } from './guard.ts';
import type { Limits } from './limits.ts';
import { startInTurn } from './server/pipeline.ts';
import { Progress, type RecordContext } from './server/progress.ts';
import { largeBytes } from './thread/large-work.ts';

/** Everything that requests share. */
export interface GatewayContext extends NodesContext, RecordContext {
  readonly view: View;
  /** Bounds all bodies held at one time. */
  readonly budget: BufferBudget;
  readonly deadlines: Deadlines;
  readonly homeNamespace: string;
  readonly requestId: () => string;
  readonly onRequestStart: () => void;
  /** Whether the gateway is stopping, so that each connection's next answer is its last. */
  readonly draining: () => boolean;
}

/** Handles a request: answers `caller`, or throws. */
export type Answer = (caller: Caller, progress: Progress) => Promise<void> | void;

/**
 * Runs `answer` for a request. The request is answered and recorded exactly once, whatever `answer` throws.
 */
export function handle(
  context: GatewayContext,
  route: string,
  shape: ErrorShape,
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
): void {
  const requestId = context.requestId();
  try {
    const caller = new Caller(request, response, {
      requestId,
      shape,
      lastOnConnection: context.draining,
      limits: context.limits,
      internalErrors: context.internalErrors,
    });
    const progress = new Progress(context, route, caller);
    caller.record = progress;
    context.onRequestStart();
    const fail = (error: unknown): void => {
      progress.error = error;
      refuse(caller, error);
    };
    const start = (): void => {
      try {
        void answer(caller, progress)?.catch(fail);
      } catch (error) {
        fail(error);
      }
    };
    if (response.socket !== null) start();
    else startInTurn(request.socket, response, context.limits.queuedRequests, start);
  } catch (error) {
    context.internalErrors('request', error, requestId);
    quietly(() => response.destroy());
  }
}

/** Answers one call of a model API: authenticate → read → inspect → try nodes → answer. */
export async function answerModelCall(
  context: GatewayContext,
  format: CallerFormat,
  caller: Caller,
  progress: Progress,
): Promise<void> {
  const { view, limits } = context;
  const key = authenticate(view, caller.request.headers, 'APIKey', context.now());
  progress.keyEntry = key;
  const idempotencyKey = scopedIdempotencyKey(caller.request.headers, key.resource.metadata);
  const type = caller.request.headers['content-type'];
  const boundary = isEndpoint(format) ? boundaryOf(type) : checkJsonType(type);
  const headers = upstreamHeaders(caller.request.headers, format, idempotencyKey, boundary);
  const share = shareOf(context, key);
  const body = await readRequest(context, caller, share);
  let call: ModelRequest | undefined;
  try {
    const options = {
      restricted: key.models !== undefined,
      maxDepth: limits.jsonDepth,
      form: boundary === undefined ? undefined : formOptions(boundary, limits),
    };
    const inspected =
      body.size > largeBytes
        ? await inspectLarge(context.largeWork, caller, body, share, options)
        : inspectBody(body.bytes, options);
    // The caller may have disconnected after its body was complete; no attempt would notice.
    stillThere(caller);
    const inspection = unstreamed.has(format) ? { ...inspected, stream: false } : inspected;
    progress.bytesIn = body.size;
    progress.wanted = inspection.model;
    if (inspection.stream || isEndpoint(format)) caller.watchSilence(context.deadlines);
    const session = sessionOf(caller.request.headers, inspection);
    const sent = { headers, idempotencyKey, body };
    call = { format, key, caller, share, inspection, session, ...sent, conversion: undefined };
    const nodes = format === 'count_tokens' ? { ...context, reports: context.countReports } : context;
    const noAnswer = await tryNodes(nodes, caller, call, progress).catch((error: unknown) =>
      endStream(caller, error),
    );
    if (noAnswer === undefined || noAnswer === 'gone') return;
    progress.error = reasonOf(noAnswer);
    await answerFailure(caller, call, noAnswer, servedBy(progress, call));
  } finally {
    const conversion = call?.conversion;
    // Requests for further choices are written later, from the same body.
    if (conversion?.isUnsent === true) caller.whenClosed(() => release(conversion, body));
    else release(conversion, body);
  }
}

function formOptions(boundary: string, { formParts, formHeaderBytes }: Limits): FormOptions {
  return { boundary, maxParts: formParts, maxHeaderBytes: formHeaderBytes };
}

/** Formats that have no streams, or whose node says whether the answer is one; `stream` in the body is ignored. */
const unstreamed: ReadonlySet<CallerFormat> = new Set(['embeddings', 'count_tokens', ...endpoints]);

function release(conversion: Conversion | undefined, body: RequestBody): void {
  conversion?.release();
  body.release();
}

/** The error for the log if no node answered. Of a node's own error, the log has the status only. */
function reasonOf(noAnswer: NoAnswer): GatewayError | undefined {
  if (noAnswer instanceof ConversionError) return new GatewayError('unsupported_parameter', noAnswer.message);
  return noAnswer.error instanceof GatewayError ? noAnswer.error : undefined;
}

/** The memory share of a key; all requests with that key use it together. */
export function shareOf({ budget }: GatewayContext, { resource: { metadata } }: KeyEntry): BufferShare {
  return budget.of(metadata.uid ?? `${metadata.namespace}/${metadata.name}`);
}

/** Reads the body. Answers `Expect: 100-continue` first if the caller sent it. */
export function readRequest(
  { limits, deadlines, largeWork }: GatewayContext,
  caller: Caller,
  share: BufferShare,
  most?: number,
): Promise<RequestBody> {
  const { request } = caller;
  const bounds = most === undefined ? limits : { ...limits, bodyBytes: most };
  if (
    request.headers.expect !== undefined &&
    // A caller that speaks HTTP/1.0 would read the 100 as its answer (RFC 9110 §10.1.1).
    request.httpVersion !== '1.0' &&
    Number(request.headers['content-length'] ?? 0) <= bounds.bodyBytes
  ) {
    caller.askForBody();
  }
  return readBody(request, bounds, share, deadlines, largeWork);
}

function servedBy({ node, model, attempts, conversion }: Progress, call: ModelRequest): string[] {
  if (node === undefined || model === undefined) return [];
  const headers = servedHeaders(node, model, call.inspection.model, attempts);
  const made = call.conversion;
  return conversion === undefined || made === undefined ? headers : [...headers, ...made.headers];
}

/** If keep-alives have begun the caller's stream, the error is reported in the stream. Else it is thrown again. */
function endStream(caller: Caller, error: unknown): NoAnswer {
  if (caller.started !== 'keepAlives' || error instanceof CallerGone) throw error;
  return ownFailure(knownError(caller, error));
}

/** The one place that turns a thrown error into an answer. Never throws, because no caller awaits it. */
function refuse(caller: Caller, error: unknown): void {
  if (error instanceof CallerGone || caller.gone) return;
  const known = knownError(caller, error);
  try {
    if (caller.started === 'nothing') caller.answerError(known);
    else caller.interrupt(undefined);
  } catch (fault) {
    caller.caught('request', fault);
    quietly(() => caller.break());
  }
}

/** The error of the catalogue for a thrown error. */
function knownError(caller: Caller, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  caller.caught('request', error);
  return internalError();
}
