import { randomUUID } from 'node:crypto';
import { ApiError } from '../../kube/api-error.ts';
import { doublingBackoff } from '../../kube/backoff.ts';
import type { KubeClient } from '../../kube/client.ts';
import { type Clock, pause } from '../../kube/clock.ts';
import { resourcePath } from '../../kube/paths.ts';
import { createObject, getObject, replaceObject } from '../../kube/verbs.ts';
import type { Log } from '../../observe/log.ts';
import type { ReportMetrics } from '../../observe/report-metrics.ts';
import { classLabel } from '../../resources/class-label.ts';
import { type GatewayReport, mostReported } from '../../resources/gateway-report.ts';
import { apiVersion } from '../../resources/parse.ts';
import { timeText } from '../../resources/time.ts';
import type { AppliedVersions } from './applied-versions.ts';
import { failureText } from './failure-text.ts';
import { reportAddress } from './report-address.ts';

type State = GatewayReport['spec']['state'];

/** What a gateway says of its requests and circuits. */
export interface ReportedLoad {
  readonly requestsInFlight: number;
  readonly circuits: Iterable<{
    readonly node: string;
    readonly model: string | undefined;
    readonly state: 'open' | 'half_open';
  }>;
}

/** The report of this process. */
export interface OwnReport {
  /** Settles when the first write has ended, well or not. Read no list before that: a command that revokes a key must know of this gateway. */
  readonly begun: Promise<void>;
  /** Sets the state, and writes it soon. */
  enter(state: State, load?: () => ReportedLoad): void;
  /** Writes for the last time, that this process accepts nothing any more; at most for two seconds. */
  end(): Promise<void>;
}

const heartbeatMs = 10_000;
/** Changes of keys are reported this often at most: five times a second. */
const soonestMs = 200;
/** After another process wrote the same report, for so long this one claims nothing. */
const contestedMs = 60_000;
const writeMs = 5_000;
const lastWriteMs = 2_000;

/**
 * Writes the GatewayReport of this gateway until `signal` aborts: every 10 s, and soon after a key changed. A failed write
 * is logged once for each reason, and tried again; nothing waits for it but the start, once.
 */
export function writeOwnReport(options: {
  client: KubeClient;
  homeNamespace: string;
  /** The name of the pod, which the admission policy compares with the token. */
  name: string;
  /** The pod in the home namespace, which takes the report with it. */
  podUID: string | undefined;
  className: string | undefined;
  version: string;
  applied: AppliedVersions;
  log: Log;
  metrics: ReportMetrics;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
}): OwnReport {
  const { client, homeNamespace, name, podUID, className, applied, log, metrics, clock, signal } = options;
  const listPath = resourcePath(reportAddress(homeNamespace));
  const path = resourcePath(reportAddress(homeNamespace, name));
  const startedTime = timeText(clock.wall().getTime());
  const instance = randomUUID();
  const backoff = doublingBackoff(options.random);
  const begun = Promise.withResolvers<void>();
  let state: State = 'Starting';
  let load = (): ReportedLoad => ({ requestsInFlight: 0, circuits: [] });
  let resourceVersion: string | undefined;
  let failure: string | undefined;
  let isDue = false;
  let contestedUntilMs = Number.NEGATIVE_INFINITY;
  let wake = (): void => {};

  const body = () => {
    const { requestsInFlight, circuits } = load();
    const open = [...circuits];
    return {
      apiVersion,
      kind: 'GatewayReport',
      metadata: {
        name,
        namespace: homeNamespace,
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
        ...(className === undefined ? {} : { labels: { [classLabel]: className } }),
        ...(podUID === undefined
          ? {}
          : { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid: podUID }] }),
      },
      spec: {
        state,
        version: options.version,
        instance,
        ...(podUID === undefined ? {} : { podUID }),
        startedTime,
        heartbeatTime: timeText(clock.wall().getTime()),
        requestsInFlight,
        openCircuits: open.length,
        circuits: open.slice(0, mostReported.circuits).map(({ node, model, state: its }) => ({
          node,
          ...(model === undefined ? {} : { model }),
          state: its === 'open' ? 'Open' : 'HalfOpen',
        })),
        // Two processes write it: neither may say what the other has applied.
        ...(clock.monotonicMs() < contestedUntilMs
          ? { applied: [], appliedTruncated: true }
          : applied.entries()),
      },
    };
  };

  /** Writes over the version that is known, if there is one; a report that this process has not written is replaced. */
  const write = async (timeoutMs: number, until: AbortSignal | undefined): Promise<void> => {
    const call = { timeoutMs, signal: until };
    const put = () =>
      resourceVersion === undefined
        ? createObject(client, listPath, body(), call)
        : replaceObject(client, path, body(), call);
    const written = await put().catch(async (error: unknown) => {
      if (!(error instanceof ApiError) || (error.status !== 409 && error.status !== 404)) throw error;
      if (error.status === 404 && resourceVersion === undefined) throw error;
      const there = error.status === 404 ? undefined : await getObject(client, path, call);
      if (resourceVersion !== undefined && there !== undefined) contest(there);
      resourceVersion = versionOf(there);
      return put();
    });
    resourceVersion = versionOf(written);
  };

  /** It was written by somebody else since this process wrote it. */
  const contest = (there: unknown): void => {
    const other = (there as { spec?: { instance?: unknown } } | null)?.spec?.instance;
    if (other === instance) return;
    if (clock.monotonicMs() >= contestedUntilMs) {
      log.error(
        { report: name },
        'Another process writes the report of this name, so neither proves anything; give each gateway its own POD_NAME',
      );
    }
    contestedUntilMs = clock.monotonicMs() + contestedMs;
  };

  const attempt = async (): Promise<number> => {
    try {
      await write(writeMs, signal);
      if (failure !== undefined) log.info('The report of this gateway is written again');
      failure = undefined;
      backoff.reset();
      metrics.written(clock.wall().getTime());
      return heartbeatMs;
    } catch (error) {
      if (signal.aborted) return 0;
      metrics.failed();
      const why = writeFailure(error);
      if (why !== failure) {
        log.warn(
          { err: error },
          `The report of this gateway could not be written: ${why}. It serves on; that keys are revoked cannot be proven`,
        );
      }
      failure = why;
      return backoff.next(error instanceof ApiError ? error.retryAfterMs : undefined);
    }
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      isDue = false;
      const waitMs = await attempt();
      begun.resolve();
      const [woken, sleep] = [Promise.withResolvers<void>(), new AbortController()];
      wake = woken.resolve;
      const rest = AbortSignal.any([signal, sleep.signal]);
      await pause(clock, Math.min(soonestMs, waitMs), signal);
      // While writes fail, nothing hurries: the API server is away, or refuses.
      const isWoken = isDue && failure === undefined;
      if (!isWoken) {
        const slept = pause(clock, waitMs - soonestMs, rest);
        await Promise.race(failure === undefined ? [slept, woken.promise] : [slept]);
      }
      sleep.abort();
    }
  };
  const soon = (): void => {
    isDue = true;
    wake();
  };
  applied.onKeyChange(soon);
  metrics.begin();
  const running = run().catch((error: unknown) => log.error({ err: error }, 'Reports ended unexpectedly'));
  signal.addEventListener('abort', () => begun.resolve(), { once: true });
  return {
    begun: begun.promise,
    enter(next, nextLoad) {
      state = next;
      load = nextLoad ?? load;
      soon();
    },
    async end() {
      // After the last write of the loop, or it would be overwritten.
      await running;
      state = 'Stopped';
      await write(lastWriteMs, undefined).catch(() => {});
    },
  };
}

function versionOf(document: unknown): string | undefined {
  const version = (document as { metadata?: { resourceVersion?: unknown } } | null)?.metadata
    ?.resourceVersion;
  return typeof version === 'string' ? version : undefined;
}

function writeFailure(error: unknown): string {
  if (!(error instanceof ApiError)) return failureText(error);
  if (error.status === 404) return 'the API server does not know the kind GatewayReport; apply the CRDs';
  if (error.status === 403) {
    return 'the API server refuses it (403); grant "create", "get" and "update" on gatewayreports in the home namespace, and see the admission policy gateway-reports';
  }
  return failureText(error);
}
