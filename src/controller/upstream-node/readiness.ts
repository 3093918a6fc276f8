import { conditionOf } from '../../resources/condition-of.ts';
import type { Reason } from '../../resources/reasons.ts';
import type { UpstreamNode, UpstreamNodeStatus } from '../../resources/upstream-node.ts';
import type { Credentials } from '../../store/store.ts';
import type { Observation, Progress } from '../conditions.ts';
import type { Fault, Health } from './verdict.ts';

export type Phase = NonNullable<UpstreamNodeStatus['phase']>;

/** What the phase and `Ready` depend on. */
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
  /** Why the last sync found no listing; undefined if it found one, or none has ended. */
  readonly listless: string | undefined;
  /** The last sync found no listing endpoint and no manual list, and there is one now. */
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
  // Not checked now, but manual models may have changed since the last check.
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
  return spec.healthCheck.mode === 'None' && spec.sync.discovery === 'Never';
}

export interface Readiness {
  readonly ready: Observation;
  readonly progress: Progress;
}

type ReadyRule = (standing: Standing, phase: Phase) => Readiness | undefined;

const setModels =
  'Set spec.manualModels, or let the node list its models at {baseURL}/models (spec.sync.discovery: Always).';

function noneFound({ spec }: UpstreamNode): string {
  return spec.sync.models === undefined
    ? `The node lists no models. ${setModels}`
    : 'The node lists no models, or spec.sync.models leaves none of them. Change its include and exclude, or set spec.manualModels.';
}

/** The rules for `Ready`; the first that returns a condition decides. */
const readyRules: readonly ReadyRule[] = [
  ({ credentials }) =>
    credentials.state === 'Refused'
      ? answer('False', credentials.reason, credentials.message, 'Stalled')
      : undefined,
  ({ health, node }, phase) => {
    if (phase !== 'error' && phase !== 'offline') return undefined;
    const fault = health?.state === 'Bad' ? health.fault : faultBefore(node);
    return answer(
      'False',
      fault.reason,
      fault.message,
      fault.stalls || phase === 'offline' ? 'Stalled' : 'Reconciling',
    );
  },
  (standing, phase) =>
    phase === 'idle' && isChecked(standing)
      ? answer('False', 'NoModels', standing.listless ?? noneFound(standing.node), 'Stalled')
      : undefined,
  ({ node, modelCount }, phase) =>
    phase === 'idle' && modelCount === 0 && node.spec.sync.discovery === 'Never'
      ? answer('False', 'NoModels', `The node has no models. ${setModels}`, 'Stalled')
      : undefined,
  // It is not checked before its next sync, which may be a week away. It takes traffic, so it counts as ready.
  ({ node, changed, modelCount }, phase) =>
    phase === 'idle' && !changed && modelCount > 0 && node.spec.healthCheck.mode === 'None'
      ? answer(
          'True',
          'ManualModelsApplied',
          'The manual list is applied; spec.healthCheck.mode is None, so the node is not checked.',
          'Settled',
        )
      : undefined,
  (_, phase) =>
    phase === 'idle'
      ? answer(
          'Unknown',
          'NotChecked',
          'The node was not contacted since it was made or its connection changed.',
          'Reconciling',
        )
      : undefined,
];

/** The `Ready` condition of a node in `phase`, and its progress for kstatus. */
export function readinessOf(standing: Standing, phase: Phase): Readiness {
  for (const rule of readyRules) {
    const readiness = rule(standing, phase);
    if (readiness !== undefined) return readiness;
  }
  return answer('True', 'Healthy', 'The last check was good.', 'Settled');
}

function isChecked({ health, node, changed }: Standing): boolean {
  return (
    (health !== undefined && health.state !== 'Unchanged') ||
    (!changed && node.status?.lastHealthCheckTime !== undefined)
  );
}

/** The fault that an earlier plan wrote into the status. */
function faultBefore({ status }: UpstreamNode): Fault {
  const ready = conditionOf(status?.conditions, 'Ready');
  return {
    // Only this controller writes it, and only reasons of the closed list.
    reason: (ready?.reason ?? 'Failed') as Reason,
    message: ready?.message ?? 'The last check failed.',
    stalls: conditionOf(status?.conditions, 'Stalled') !== undefined,
  };
}

function answer(
  status: Observation['status'],
  reason: Reason,
  message: string,
  progress: Progress,
): Readiness {
  return { ready: { type: 'Ready', status, reason, message }, progress };
}
