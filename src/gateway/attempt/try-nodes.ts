import { ConversionError } from '../../convert/conversion-error.ts';
import type { AttemptTrace, RequestTrace } from '../../observe/tracing.ts';
import { type CallerFormat, type Endpoint, isEndpoint } from '../../routing/caller-format.ts';
import type { NativeWish } from '../../routing/route.ts';
import type { Candidate } from '../../store/store.ts';
import type { UpstreamPath } from '../../upstream/paths.ts';
import { authenticate } from '../admission/authenticate.ts';
import type { ModelRequest } from '../admission/model-request.ts';
import type { Caller } from '../answer/caller.ts';
import { conversionOf, convertFor, wantsNative } from '../conversion/convert-for.ts';
import { convertedAttempt } from '../conversion/converted-attempt.ts';
import { answerEstimate } from '../conversion/count-tokens.ts';
import { GatewayError, shorten } from '../errors/errors.ts';
import { modelRefused } from '../models.ts';
import { Attempt } from './attempt.ts';
import { type AttemptResult, type Failure, type NoAnswer, ownFailure, withoutCredential } from './failure.ts';
import { servedHeaders } from './headers.ts';
import type { Place } from './node-loads.ts';
import type { NodesContext } from './nodes-context.ts';
import { Places } from './places.ts';
import { TriedNodes } from './tried-nodes.ts';

/** The attempts so far: the last node, its name for the model, their number, and how the failed ones failed. */
export interface Tries {
  node: string | undefined;
  model: string | undefined;
  failed: readonly string[] | undefined;
  attempts: number;
  /** The conversion that the last attempt ran, and the fields that it could not carry. */
  conversion: string | undefined;
  dropped: readonly string[] | undefined;
  /** The request's span; undefined if tracing is off. */
  readonly trace: RequestTrace | undefined;
}

/** After this many refused conversions only nodes that need no conversion are tried. */
const mostRefusals = 8;

const paths: Readonly<Record<Exclude<CallerFormat, Endpoint>, UpstreamPath>> = {
  chat: '/chat/completions',
  completions: '/completions',
  embeddings: '/embeddings',
  responses: '/v1/responses',
  messages: '/v1/messages',
  count_tokens: '/v1/messages/count_tokens',
};

function pathOf(format: CallerFormat): UpstreamPath {
  return isEndpoint(format) ? `/${format}` : paths[format];
}

/**
 * Tries one node after the other until one answers the caller. Resolves with undefined when an answer has begun, with
 * 'gone' if the caller left, else with why no node answered. Throws GatewayError if the caller may use no node.
 * `tries` is kept up to date for the record of the request.
 */
export async function tryNodes(
  context: NodesContext,
  caller: Caller,
  request: ModelRequest,
  tries: Tries,
): Promise<NoAnswer | 'gone' | undefined> {
  const tried = new TriedNodes();
  const places = new Places(context, caller, request, tried);
  try {
    return await tryEach(context, caller, request, tries, tried, places);
  } finally {
    places.leave();
  }
}

async function tryEach(
  context: NodesContext,
  caller: Caller,
  request: ModelRequest,
  tries: Tries,
  tried: TriedNodes,
  places: Places,
): Promise<NoAnswer | 'gone' | undefined> {
  const { router, limits, reports, clock } = context;
  const { format, inspection, session } = request;
  let { key } = request;
  const lastStart = clock() + limits.attemptsMs;
  let wish: NativeWish = 'unknown';
  let failure: Failure | undefined;
  let refusals = 0;
  let refused: ConversionError | undefined;
  while (
    tries.attempts < limits.attempts &&
    (tries.attempts === 0 || clock() <= lastStart + places.waitedMs)
  ) {
    const pick = router.next(inspection.model, key, format, tried, wish, session);
    if (pick === undefined) break;
    if (pick === 'ask') {
      wish = (await wantsNative(context, request)) ? 'preferred' : 'any';
      if (caller.gone) return 'gone';
      continue;
    }
    if ('full' in pick) {
      if ((await places.wait(pick.full)) === 'gone') return 'gone';
      // While the request waited, the key may have been revoked, or limited to other models.
      key = authenticate(context.view, caller.request.headers, 'APIKey', context.now());
      continue;
    }
    if ('code' in pick) {
      // The last candidates may have been disabled since the first attempt. Then the failure of that attempt is the better answer.
      if (failure === undefined && refused === undefined) throw modelRefused(pick.code, inspection.model);
      break;
    }
    const { candidate } = pick;
    const { node, model } = candidate;
    tried.add(candidate);
    const place = places.take(node);
    const native = pick.native && request.conversion?.begun !== true;
    const preparing = native ? 'as it is' : convertFor(context, request, candidate);
    const prepared = preparing instanceof Promise ? await preparing : preparing;
    // The caller may have left while the request was prepared in the thread; the attempt would not be notified.
    if (caller.gone && preparing instanceof Promise) {
      if (prepared === 'converted') context.circuits.abandoned(candidate);
      return 'gone';
    }
    if (prepared === 'estimate') {
      giveEstimate(context, caller, request, tries);
      return undefined;
    }
    if (prepared instanceof ConversionError) {
      places.leave();
      refused ??= prepared;
      refusals += 1;
      if (refusals > mostRefusals) break;
      if (refusals === mostRefusals) wish = 'only';
      continue;
    }
    if (failure !== undefined) reports.failedOver(failure);
    tries.node = node.id;
    tries.model = model;
    tries.attempts += 1;
    // Now, not after the attempt: an answer that is there at once is recorded before this function continues.
    tries.conversion = native ? undefined : request.conversion?.name;
    tries.dropped = native ? undefined : request.conversion?.current.dropped;
    const span = tries.trace?.attempt({
      node: node.id,
      model,
      baseURL: node.resource.spec.baseURL,
      number: tries.attempts,
      format: native ? format : 'chat',
      stream: inspection.stream,
    });
    const result = native
      ? await attempt(context, caller, request, candidate, tries.attempts, span, place)
      : await convertedAttempt(context, caller, request, candidate, tries.attempts, span, place);
    if (result === 'gone') {
      reports.abandoned(candidate);
      return 'gone';
    }
    if (result === 'answering') {
      // While an answer is under way, the request still counts as load of the node; the end of the answer calls `leave`.
      places.handOver();
      return undefined;
    }
    places.leave();
    failure = result;
    tries.failed = [...(tries.failed ?? []), reports.failed(candidate, failure)];
    if (concernsNode(failure)) tried.addNode(node.id);
    span?.failed(failure.outcome);
    if (native && format === 'count_tokens' && lacksCount(failure)) {
      const impossible = await convertFor(context, request, candidate);
      if (impossible instanceof ConversionError) return impossible;
      giveEstimate(context, caller, request, tries);
      return undefined;
    }
    if (!failure.isWorthAnother) break;
  }
  const { model } = inspection;
  const isBusy = tried.givenUp !== undefined;
  return (
    failure ?? refused ?? ownFailure(isBusy ? nodesBusy(model) : modelRefused('no_node_available', model))
  );
}

function nodesBusy(model: string): GatewayError {
  const message = `Every model server for '${shorten(model)}' has as many requests as it may have at one time; try again shortly.`;
  return new GatewayError('nodes_busy', message);
}

/** Whether every other model of the node would fail alike: it cannot be reached, or refuses the gateway's credential. */
function concernsNode({ circuit, status }: Failure): boolean {
  return circuit === 'connect_failed' || status === 401 || status === 403;
}

/** Whether a node that speaks Messages has no endpoint for counting: an estimate is better than its 404. */
function lacksCount({ status }: Failure): boolean {
  return status === 404 || status === 405;
}

function giveEstimate(context: NodesContext, caller: Caller, request: ModelRequest, tries: Tries): void {
  const conversion = conversionOf(context, request);
  // A node whose `/tokenize` could be asked may speak messages too.
  conversion.name = 'count_tokens->estimate';
  context.conversions.ran(conversion.name, conversion.current.dropped);
  tries.conversion = conversion.name;
  answerEstimate(caller, conversion);
}

function attempt(
  { pools, limits, reports }: NodesContext,
  caller: Caller,
  { format, inspection, headers, body }: ModelRequest,
  candidate: Candidate,
  number: number,
  span: AttemptTrace | undefined,
  place: Place | undefined,
): Promise<AttemptResult> {
  const { node, model } = candidate;
  const { credentials } = node;
  if (credentials.state !== 'Resolved') return Promise.resolve(withoutCredential);
  return new Promise((settle) => {
    const made = new Attempt(
      pools.pool(node.id, credentials.connection),
      credentials.connection,
      {
        method: 'POST',
        path: pathOf(format),
        headers: span === undefined ? headers : span.headers(headers),
        body: body.named(model, inspection),
      },
      {
        caller,
        format,
        limits,
        candidate,
        place,
        reports,
        settle,
        stream: inspection.stream,
        headers: servedHeaders(node.id, model, inspection.model, number),
      },
    );
    body.lend(made);
  });
}
