import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { resourcePath } from '../../kube/paths.ts';
import { reflect } from '../../kube/reflect.ts';
import { deleteObject } from '../../kube/verbs.ts';
import { gatewayLabels } from '../../resources/pod-labels.ts';
import type { GatewayReports, SeenReport } from '../gateway-reports.ts';
import { failureText } from './failure-text.ts';
import { readReport } from './read-report.ts';
import { reportAddress } from './report-address.ts';
import { toStoreError } from './to-store-error.ts';

/**
 * Follows the reports of the gateways in a home namespace, and which pods of gateways run there, until `signal` aborts. What
 * cannot be read is logged once for each reason.
 */
export function followReports(options: {
  client: KubeClient;
  homeNamespace: string;
  className: string | undefined;
  /** Reports what cannot be read or believed. */
  warn: (fields: object, message: string) => void;
  clock: Clock;
  signal: AbortSignal;
}): GatewayReports {
  const { client, homeNamespace, className, warn, clock, signal } = options;
  const reports = new Map<string, SeenReport>();
  const listeners = new Set<() => void>();
  let all: readonly SeenReport[] | undefined;
  let running: Set<string> | undefined;
  const asked = Promise.withResolvers<void>();

  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  const take = (document: unknown): void => {
    const read = readReport(document);
    const before = reports.get(read.name);
    if (before?.resourceVersion === read.resourceVersion) return;
    if (read.fault !== undefined && read.fault !== before?.fault) {
      warn({ name: read.name, fault: read.fault }, 'The report of a gateway is not believed');
    }
    reports.set(read.name, { ...read, heardMs: clock.monotonicMs() });
  };
  const failed = (what: string) => {
    let last: string | undefined;
    return (error: unknown): void => {
      const why = error === undefined ? undefined : failureText(error);
      if (why !== undefined && why !== last) warn({ err: error }, `${what} could not be read: ${why}`);
      last = why;
    };
  };
  const reportsFailed = failed('The reports of gateways');
  const podsFailed = failed('The pods of gateways');
  const publish = (): void => {
    // Those of another class serve other objects; their pods have the same labels as ours.
    all = [...reports.values()].filter(({ className: its }) => its === className);
    changed();
    asked.resolve();
  };

  void reflect({
    client,
    path: resourcePath(reportAddress(homeNamespace)),
    signal,
    sink: {
      replace(objects) {
        const names = new Set(objects.map((object) => readReport(object).name));
        for (const name of reports.keys()) if (!names.has(name)) reports.delete(name);
        for (const object of objects) take(object);
        publish();
      },
      set(object) {
        take(object);
        publish();
      },
      remove(object) {
        reports.delete(readReport(object).name);
        publish();
      },
    },
    onOpen: () => reportsFailed(undefined),
    onGone() {
      all = undefined;
      changed();
    },
    onRestart: (_reason, error) => {
      asked.resolve();
      if (error !== undefined) reportsFailed(error);
    },
    onSinkError: (error) => warn({ err: error }, 'A report of a gateway could not be taken'),
  });
  const podsOf = (change: (names: Set<string>) => void): void => {
    const before = running;
    running = new Set(running);
    change(running);
    if (!isDeepStrictEqual(before, running)) changed();
  };
  void reflect({
    client,
    path: resourcePath({ group: '', version: 'v1', plural: 'pods', namespace: homeNamespace }),
    query: { labelSelector: gatewayLabels, fieldSelector: 'status.phase=Running' },
    metadataOnly: true,
    signal,
    sink: {
      replace: (names) =>
        podsOf((running_) => {
          running_.clear();
          for (const name of names) running_.add(nameOf(name));
        }),
      set: (name) => podsOf((running_) => running_.add(nameOf(name))),
      remove: (name) => podsOf((running_) => running_.delete(nameOf(name))),
    },
    onOpen: () => podsFailed(undefined),
    onRestart: (_reason, error) => {
      if (error !== undefined) podsFailed(error);
    },
  });

  return {
    list: () => all,
    asked: asked.promise,
    pods: () => running,
    unreported: () => [...(running ?? [])].filter((name) => !reports.has(name)),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async remove({ name, uid, resourceVersion }, callSignal) {
      const path = resourcePath(reportAddress(homeNamespace, name));
      await deleteObject(client, path, { uid, resourceVersion, signal: callSignal }).catch(
        (error: unknown) => {
          if (!(error instanceof ApiError) || error.status !== 404) throw toStoreError(error);
        },
      );
    },
  };
}

function nameOf(document: unknown): string {
  const name = (document as { metadata?: { name?: unknown } } | null)?.metadata?.name;
  return typeof name === 'string' ? name : '';
}
