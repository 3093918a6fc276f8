import { conditionOf } from '../../resources/condition-of.ts';
import type { Reason } from '../../resources/reasons.ts';
import type { UpstreamNode, UpstreamNodeStatus } from '../../resources/upstream-node.ts';
import type { Credentials } from '../../store/store.ts';
import type { Observation, Progress } from '../conditions.ts';
import { isDiscovering } from './models.ts';
import { type Fault, type Health, stalls } from './verdict.ts';

export type Phase = NonNullable<UpstreamNodeStatus['phase']>;

/** What the phase, `Ready` and `Reachable` depend on. */
export interface Standing {
  readonly node: UpstreamNode;
  readonly credentials: Credentials;
  /** The result of the contact that just ended; undefined if none did. */
  readonly health: Health | undefined;
  /** Contacts in a row that could not reach the node, the last one included. */
  readonly unreachable: number;
  /** The connection changed, and no contact with the new one has ended. */
  readonly changed: boolean;
  readonly modelCount: number;
  /** The `ModelsSynced` condition. */
  readonly sync: Observation;
  /** The last sync found neither a listing endpoint nor a manual list, and there is a manual list now. */
  readonly healed: boolean;
}

type PhaseRule = (standing: Standing) => Phase | undefined;

/** The rules for the phase; the first that returns one decides. */
const phaseRules: readonly PhaseRule[] = [
  ({ credentials }) => (credentials.state === 'Refused' ? 'error' : undefined),
  ({ health, node, unreachable, modelCount }) => {
    if (health?.state !== 'Bad') return undefined;
    // The node is healthy; it only has no models.
    if (health.fault.reason === 'NoModels' && modelCount === 0) return 'idle';
    const isOffline =
      unreachable >= node.spec.healthCheck.failureThreshold || node.status?.phase === 'offline';
    return health.unreachable && isOffline ? 'offline' : 'error';
  },
  ({ health, modelCount }) => {
    if (health?.state !== 'Good') return undefined;
    return modelCount > 0 ? 'ready' : 'idle';
  },
  ({ changed }) => (changed ? 'idle' : undefined),
  ({ node }) => (isUnwatched(node) ? 'idle' : undefined),
  ({ node, healed }) => {
    if (healed) return undefined;
    const before = node.status?.phase;
    return before === 'error' || before === 'offline' ? before : undefined;
  },
  // No check ended now, but manual models may have been added since the last one.
  ({ node, modelCount }) =>
    node.status?.lastHealthCheckTime !== undefined && modelCount > 0 ? 'ready' : undefined,
];

/** The phase of a node. */
export function phaseOf(standing: Standing): Phase {
  for (const rule of phaseRules) {
    const phase = rule(standing);
    if (phase !== undefined) return phase;
  }
  return 'idle';
}

/** Whether nothing ever contacts the node, so that its health will never be known. */
export function isUnwatched({ spec }: UpstreamNode): boolean {
  return spec.healthCheck.mode === 'None' && !isDiscovering({ spec });
}

export interface Readiness {
  readonly ready: Observation;
  readonly progress: Progress;
}

type ReadyRule = (standing: Standing) => Readiness | undefined;

const setModels =
  'Set spec.manualModels, or let the node list its models at {baseURL}/models (spec.sync.discovery: Always).';

function noneFound({ spec }: UpstreamNode): string {
  if (spec.sync.suspend)
    return 'No models are known, and spec.sync.suspend is true. Set it to false, or set spec.manualModels.';
  if (spec.sync.discovery === 'Never') return `The node has no models. ${setModels}`;
  return spec.sync.models === undefined
    ? `The node lists no models. ${setModels}`
    : 'The node lists no models, or spec.sync.models leaves none of them. Change its include and exclude, or set spec.manualModels.';
}

/**
 * The rules for `Ready`, which says whether the node is set up; the first that returns a condition decides. An outage of the
 * model server only changes `Reachable`, so that pipelines that wait for `Ready` continue.
 */
const readyRules: readonly ReadyRule[] = [
  ({ credentials }) =>
    credentials.state === 'Refused'
      ? answer('False', credentials.reason, credentials.message, 'Stalled')
      : undefined,
  (standing) => {
    const fault = refusal(standing);
    return fault === undefined ? undefined : answer('False', fault.reason, fault.message, 'Stalled');
  },
  ({ changed, credentials }) => (changed || credentials.state === 'Pending' ? notContacted : undefined),
  ({ modelCount, sync }) =>
    // A node without a listing needs a manual list, also if the models of an earlier listing are known.
    modelCount > 0 && sync.reason !== 'NoModels'
      ? answer('True', 'Configured', 'The node is accepted and its models are known.', 'Settled')
      : undefined,
  ({ sync: { status, reason, message } }) =>
    status === 'False'
      ? answer('False', reason, message, stalls(reason) ? 'Stalled' : 'Reconciling')
      : undefined,
  ({ sync, node }) =>
    sync.status === 'True' || !isDiscovering(node)
      ? answer('False', 'NoModels', noneFound(node), 'Stalled')
      : undefined,
];

/** The `Ready` condition of a node, and its progress for kstatus. */
export function readinessOf(standing: Standing): Readiness {
  for (const rule of readyRules) {
    const readiness = rule(standing);
    if (readiness !== undefined) return readiness;
  }
  return notContacted;
}

/** Reasons for which a node that has models is not ready: its credential or its address is refused. */
const refusals: ReadonlySet<string> = new Set<Reason>(['AuthenticationFailed', 'AddressForbidden']);
/** Reasons after which it is unknown whether an earlier refusal still applies. */
const outages: ReadonlySet<string> = new Set<Reason>([
  'UpstreamError',
  'UpstreamUnreachable',
  'UpstreamTimeout',
  'TLSFailed',
]);

/** The refusal by the contact that just ended, or an earlier one after which the node has given no other answer. */
function refusal({ health, changed, node }: Standing): Fault | undefined {
  const fault = health?.state === 'Bad' ? health.fault : undefined;
  if (fault !== undefined && refusals.has(fault.reason)) return fault;
  const isAnswered = health?.state === 'Good' || (fault !== undefined && !outages.has(fault.reason));
  if (changed || isAnswered) return undefined;
  const before = conditionOf(node.status?.conditions, 'Ready');
  // The cast is safe, because only this controller writes the condition, with reasons of the closed list.
  return before !== undefined && refusals.has(before.reason) ? (before as Observation) : undefined;
}

/** The `Reachable` condition: the result of the last check or sync. */
export function reachability({ health, changed, node }: Standing): Observation {
  const type = 'Reachable';
  if (health?.state === 'Bad' && health.fault.reason !== 'NoModels') {
    const { reason, message } = health.fault;
    return { type, status: 'False', reason, message };
  }
  if (health !== undefined && health.state !== 'Unchanged') {
    return { type, status: 'True', reason: 'Healthy', message: 'The last check was good.' };
  }
  if (isUnwatched(node)) {
    const message =
      'The node is not checked: spec.healthCheck.mode is None, and it is not asked for its models.';
    return { type, status: 'Unknown', reason: 'NotChecked', message };
  }
  const before = conditionOf(node.status?.conditions, type);
  if (!changed && before !== undefined) return before as Observation;
  const { reason, message } = notContacted.ready;
  return { type, status: 'Unknown', reason, message };
}

const notContacted = answer(
  'Unknown',
  'NotChecked',
  'The node was not contacted since it was made or its connection changed.',
  'Reconciling',
);

function answer(
  status: Observation['status'],
  reason: Reason,
  message: string,
  progress: Progress,
): Readiness {
  return { ready: { type: 'Ready', status, reason, message }, progress };
}
