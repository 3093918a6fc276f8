import { toldAddress } from './addresses.ts';
import type { Container, Pod } from './pod.ts';

export interface ContainerState {
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly ready: boolean;
  readonly started: boolean;
  readonly restarts: number;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly startedAt?: string;
  readonly exitCode?: number;
  readonly lastExitCode?: number;
}

/** The status of a pod with one container, as a kubelet writes it. */
export function podStatus(
  pod: Pod,
  container: Container,
  podIP: string,
  startTime: string,
  state: ContainerState,
): object {
  const now = new Date().toISOString();
  const condition = (type: string, isTrue: boolean, reason?: string) => ({
    type,
    status: isTrue ? 'True' : 'False',
    lastTransitionTime: now,
    ...(reason === undefined ? {} : { reason }),
  });
  const completed = state.phase === 'Succeeded' ? 'PodCompleted' : 'ContainersNotReady';
  const readyReason = state.ready ? undefined : completed;
  return {
    phase: state.phase,
    observedGeneration: pod.metadata.generation ?? null,
    startTime,
    hostIP: '127.0.0.1',
    podIP: toldAddress(podIP),
    podIPs: [{ ip: toldAddress(podIP) }],
    conditions: [
      condition('PodScheduled', true),
      condition('Initialized', true),
      condition('PodReadyToStartContainers', true),
      condition('ContainersReady', state.ready, readyReason),
      condition('Ready', state.ready, readyReason),
    ],
    containerStatuses: [
      {
        name: container.name,
        image: container.image,
        imageID: container.image,
        ready: state.ready,
        started: state.started,
        restartCount: state.restarts,
        state: stateOf(state, now),
        ...(state.lastExitCode === undefined
          ? {}
          : { lastState: { terminated: terminated(state.lastExitCode, now) } }),
      },
    ],
  };
}

function stateOf(state: ContainerState, now: string): object {
  const none = { running: null, waiting: null, terminated: null };
  if (state.exitCode !== undefined) return { ...none, terminated: terminated(state.exitCode, now) };
  if (state.reason !== undefined) {
    return { ...none, waiting: { reason: state.reason, message: state.message ?? null } };
  }
  return { ...none, running: { startedAt: state.startedAt ?? now } };
}

function terminated(exitCode: number, finishedAt: string): object {
  return { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt };
}
