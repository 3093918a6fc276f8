import type { KeyEntry } from '../store/store.ts';
import type { UpstreamError } from '../upstream/error.ts';
import type { UpstreamPath } from '../upstream/paths.ts';
import type { Pools } from '../upstream/pools.ts';
import { Attempt, type Outcome } from './attempt.ts';
import type { RequestBody } from './body.ts';
import type { Caller } from './caller.ts';
import type { Circuits } from './circuits.ts';
import { GatewayError } from './errors.ts';
import { type Failure, judgeStatus } from './failure.ts';
import { retryAfterSeconds } from './headers.ts';
import { type Inspection, withModel } from './inspect.ts';
import type { Limits } from './limits.ts';
import { modelRefused } from './models.ts';
import type { CallerFormat, Pick, RouteRefusal, Router } from './route.ts';

/** What trying nodes needs of the gateway. */
export interface NodesContext {
  readonly router: Router;
  readonly circuits: Circuits;
  readonly pools: Pools;
  readonly limits: Limits;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
}

/** A request that was read and checked. */
export interface ModelRequest {
  readonly format: CallerFormat;
  readonly key: KeyEntry;
  readonly inspection: Inspection;
  /** For the node, flat. */
  readonly headers: readonly string[];
  readonly body: RequestBody;
}

/** Who was tried: the last node, and how many attempts there were. */
export interface Tries {
  node: string | undefined;
  attempts: number;
}

const paths: Readonly<Record<CallerFormat, UpstreamPath>> = {
  chat: '/chat/completions',
  completions: '/completions',
  embeddings: '/embeddings',
  responses: '/v1/responses',
  messages: '/v1/messages',
  count_tokens: '/v1/messages/count_tokens',
};

/**
 * Tries one node after the other until one answers the caller. Settles with undefined once an answer is on its way,
 * with 'gone' when the caller left, or with the last failure. Throws GatewayError where the caller may have no node.
 * `tries` is kept up to date for the record of the request.
 */
export async function tryNodes(
  context: NodesContext,
  caller: Caller,
  request: ModelRequest,
  tries: Tries,
): Promise<Failure | 'gone' | undefined> {
  const { router, circuits, limits, now, clock } = context;
  const { format, key, inspection } = request;
  const tried = new Set<string>();
  const lastStart = clock() + limits.attemptsMs;
  let failure: Failure | undefined;
  while (tried.size < limits.attempts && clock() <= lastStart) {
    const pick = router.next(inspection.model, key, format, tried);
    if (pick === undefined) break;
    if ('code' in pick) {
      // Disabled or revoked meanwhile: what an earlier attempt brought says more.
      if (failure === undefined) throw refused(pick, inspection.model, format);
      break;
    }
    const { node, model } = pick.candidate;
    tried.add(node.id);
    tries.node = node.id;
    tries.attempts = tried.size;
    const outcome = await attempt(context, caller, request, pick, tried.size);
    if (outcome.kind === 'gone') {
      circuits.abandoned(node.id, model);
      return 'gone';
    }
    if (outcome.kind === 'answering') {
      circuits.answered(node.id, model, outcome.status);
      return undefined;
    }
    failure = outcome.failure;
    report(circuits, node.id, model, failure, now());
    if (!isWorthAnother(failure)) break;
  }
  return failure ?? { kind: 'none', error: noNode(inspection.model), cause: undefined };
}

function attempt(
  { pools, limits }: NodesContext,
  caller: Caller,
  { format, inspection, headers, body }: ModelRequest,
  { candidate: { node, model } }: Pick,
  number: number,
): Promise<Outcome> {
  const { credentials } = node;
  if (credentials.state !== 'Resolved') {
    const error = new GatewayError('no_node_available', `The credential of a node is missing.`);
    return Promise.resolve({ kind: 'failed', failure: { kind: 'none', error, cause: undefined } });
  }
  return new Promise((settle) => {
    new Attempt(
      pools.pool(node.id, credentials.connection),
      credentials.connection,
      { method: 'POST', path: paths[format], headers, body: withModel(body.bytes, inspection, model) },
      {
        caller,
        format,
        limits,
        settle,
        stream: inspection.stream && format !== 'embeddings' && format !== 'count_tokens',
        headers: ['x-model-gateway-node', node.id, 'x-model-gateway-attempts', String(number)],
      },
    );
  });
}

/** Tells the circuits how an attempt failed. */
function report(circuits: Circuits, node: string, model: string, failure: Failure, now: number): void {
  if (failure.kind === 'status') {
    circuits.answered(node, model, failure.status, retryAfterSeconds(failure.headers, now));
  } else if (failure.kind === 'event') {
    circuits.answered(node, model, failure.status);
  } else if (failure.cause === undefined) {
    circuits.answered(node, model, 502);
  } else {
    reportBroken(circuits, node, model, failure.cause);
  }
}

function reportBroken(
  circuits: Circuits,
  node: string,
  model: string,
  { code, answered }: UpstreamError,
): void {
  if (code === 'first_byte_timeout' || code === 'idle_timeout' || code === 'total_timeout') {
    circuits.timedOut(node, model);
  } else if (answered) {
    circuits.answered(node, model, 502);
  } else {
    circuits.connectFailed(node, model);
  }
}

/** A request that a node calls wrong is wrong everywhere (design: Failover). */
function isWorthAnother(failure: Failure): boolean {
  if (failure.kind === 'none') return true;
  return judgeStatus(failure.status) === 'next';
}

function noNode(model: string): GatewayError {
  return new GatewayError(
    'no_node_available',
    `No node for the model '${shorten(model)}' is available now.`,
    {
      param: 'model',
    },
  );
}

function refused(refusal: RouteRefusal, model: string, format: CallerFormat): GatewayError {
  if (refusal.code === 'no_node_available') return noNode(model);
  if (refusal.code !== 'unsupported_format') return modelRefused(refusal.code, model);
  const spoken = refusal.formats.join(', ');
  const message = `No node that serves the model '${shorten(model)}' speaks ${format}; they speak: ${spoken}.`;
  return new GatewayError('unsupported_format', message, { param: 'model' });
}

function shorten(name: string): string {
  return name.length > 256 ? `${name.slice(0, 256)}…` : name;
}
