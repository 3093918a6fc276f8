import { setTimeout as sleep } from 'node:timers/promises';
import type { Container, Probe } from './pod.ts';

/** What the probes of one container found; called only when something changes. */
export interface ProbeOutcome {
  started(): void;
  ready(isReady: boolean, why: string): void;
  /** The startup or liveness probe has failed for good: the container is to be restarted. */
  failed(why: string): void;
}

/** Runs a container's probes as they are declared, until the signal aborts. Never throws. */
export async function runProbes(
  container: Container,
  podIP: string,
  signal: AbortSignal,
  outcome: ProbeOutcome,
): Promise<void> {
  const { startupProbe, readinessProbe, livenessProbe } = container;
  const ask = (probe: Probe) => askOnce(container, probe, podIP, signal);
  const every = async (probe: Probe, judge: (failure: string | undefined) => boolean) => {
    await pause((probe.initialDelaySeconds ?? 0) * 1_000, signal);
    while (!signal.aborted) {
      const failure = await ask(probe);
      if (signal.aborted || !judge(failure)) return;
      await pause(probe.periodSeconds * 1_000, signal);
    }
  };
  if (startupProbe !== undefined) {
    const failures = counter();
    await every(startupProbe, (failure) => {
      if (failure === undefined) return false;
      if (failures.next() < startupProbe.failureThreshold) return true;
      outcome.failed(`Startup probe failed: ${failure}`);
      return false;
    });
  }
  if (signal.aborted) return;
  outcome.started();
  if (readinessProbe === undefined) outcome.ready(true, '');
  await Promise.all([
    readinessProbe && every(readinessProbe, inTurns(readinessProbe, outcome.ready)),
    livenessProbe &&
      every(
        livenessProbe,
        inTurns(livenessProbe, (isLive, why) => {
          if (!isLive) outcome.failed(`Liveness probe failed: ${why}`);
        }),
      ),
  ]);
}

/** Tells `changed` when the thresholds of the probe are reached. */
function inTurns(probe: Probe, changed: (good: boolean, why: string) => void) {
  let successes = 0;
  let failures = 0;
  return (failure: string | undefined): true => {
    successes = failure === undefined ? successes + 1 : 0;
    failures = failure === undefined ? 0 : failures + 1;
    if (successes === probe.successThreshold) changed(true, '');
    if (failures === probe.failureThreshold) changed(false, failure ?? '');
    return true;
  };
}

function counter() {
  let count = 0;
  return { next: () => ++count };
}

/** undefined, or why the probe failed. */
async function askOnce(
  container: Container,
  probe: Probe,
  podIP: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { path = '/', port = '', scheme = 'HTTP' } = probe.httpGet ?? {};
  const number =
    typeof port === 'number' ? port : container.ports?.find(({ name }) => name === port)?.containerPort;
  if (number === undefined) return `the container has no port ${port}`;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(probe.timeoutSeconds * 1_000)]);
  try {
    const answer = await fetch(`${scheme.toLowerCase()}://${podIP}:${number}${path}`, {
      signal: limit,
      redirect: 'manual',
      headers: { connection: 'close' },
    });
    await answer.body?.cancel();
    return answer.status >= 200 && answer.status < 400 ? undefined : `HTTP ${answer.status}`;
  } catch (error) {
    return error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<unknown> =>
  sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
