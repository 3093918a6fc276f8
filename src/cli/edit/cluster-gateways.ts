import { ApiError, isForbidden } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { resourcePath } from '../../kube/paths.ts';
import { watchEvents } from '../../kube/watch.ts';
import { errorText } from '../../observe/error-text.ts';
import { followReports } from '../../store/cluster/follow-reports.ts';
import { readReport } from '../../store/cluster/read-report.ts';
import { reportAddress } from '../../store/cluster/report-address.ts';
import type { GatewayReports } from '../../store/gateway-reports.ts';
import { resourceAddress } from '../../store/resource-address.ts';
import { type Standing, standingOf, type Target } from '../../store/standing.ts';
import { DeclarationError, type Gateways, type Ref } from './declarations.ts';

const deletionMs = 10_000;

/** What gateways have applied, read from their reports with the permissions of the client's user. */
export function clusterGateways(client: KubeClient, homeNamespace: string | undefined): Gateways {
  return {
    async deletedAt(ref, before, signal) {
      const { uid, resourceVersion } = before;
      const limited = AbortSignal.any([signal, AbortSignal.timeout(deletionMs)]);
      try {
        return await deletionVersion(client, ref, uid, resourceVersion ?? '', limited);
      } catch (error) {
        signal.throwIfAborted();
        throw new DeclarationError(
          isForbidden(error) ? 'Forbidden' : 'Unavailable',
          `It is revoked, but whether the gateways have applied that is not known, because its deletion could not be watched: ${reasonOf(error)}.`,
        );
      }
    },

    async whenApplied(target, className, timeoutMs, clock, signal) {
      const homes = await homesOf(client, homeNamespace, target, signal);
      const ended = new AbortController();
      const until = AbortSignal.any([signal, ended.signal]);
      const faults = new Set<string>();
      const followed = homes.map((home) =>
        followReports({
          client,
          homeNamespace: home,
          className,
          // Without the permission to list pods, gateways that do not report are not noticed.
          warn: (_fields, message) => faults.add(message),
          clock,
          signal: until,
        }),
      );
      const cancel = clock.after(timeoutMs, () => ended.abort());
      try {
        await Promise.all(followed.map(({ asked }) => asked));
        return { standing: await settled(target, followed, clock, until), faults: [...faults] };
      } finally {
        cancel();
        ended.abort();
        signal.throwIfAborted();
      }
    },
  };
}

/** Resolves with the standing once every gateway has applied the change, or when `until` aborts. */
function settled(
  target: Target,
  followed: readonly GatewayReports[],
  clock: Clock,
  until: AbortSignal,
): Promise<Standing | undefined> {
  const look = (): Standing | undefined => {
    const lists = followed.map((reports) => reports.list());
    if (lists.includes(undefined)) return undefined;
    const all = lists.flatMap((list) => list ?? []);
    const unreported = followed.flatMap((reports) => reports.unreported());
    return standingOf(target, all, unreported, clock.monotonicMs());
  };
  return new Promise((resolve) => {
    const unsubscribes = followed.map((reports) => reports.subscribe(() => check()));
    const end = (): void => {
      for (const unsubscribe of unsubscribes) unsubscribe();
      until.removeEventListener('abort', end);
      resolve(look());
    };
    const check = (): void => {
      const standing = look();
      if (standing === undefined || standing.pending.length + standing.silent.length > 0) return;
      end();
    };
    until.addEventListener('abort', end, { once: true });
    if (until.aborted) end();
    else check();
  });
}

/** The home namespaces of the gateways that serve the namespace of the change. */
async function homesOf(
  client: KubeClient,
  named: string | undefined,
  target: Target,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (named !== undefined) return [named];
  try {
    const path = resourcePath(reportAddress());
    const found = (await client.request({ method: 'GET', path, signal })) as { items?: unknown[] | null };
    const homes = (found.items ?? []).filter((item) => {
      const { report } = readReport(item);
      const serves = report?.spec.applied.some((each) => [target.namespace, '*'].includes(each.namespace));
      return report === undefined || serves === true || report.spec.state === 'Starting';
    });
    return [
      ...new Set(homes.map((item) => (item as { metadata: { namespace: string } }).metadata.namespace)),
    ];
  } catch (error) {
    signal.throwIfAborted();
    // A person without permission for all namespaces mostly has the gateways beside the keys.
    if (isForbidden(error)) return [target.namespace];
    throw new DeclarationError('Unavailable', `The reports of gateways cannot be read: ${reasonOf(error)}.`);
  }
}

/** The version at which an object was deleted, or marked to be; from what the server remembers since it was read. */
async function deletionVersion(
  client: KubeClient,
  { kind, namespace, name }: Ref,
  uid: string | undefined,
  since: string,
  signal: AbortSignal,
): Promise<string> {
  const path = resourcePath(resourceAddress(kind, namespace));
  const query = { fieldSelector: `metadata.name=${name}`, resourceVersion: since };
  for await (const { type, object, resourceVersion } of watchEvents(client, { path, query, signal })) {
    const { metadata } = object as { metadata?: { uid?: string; deletionTimestamp?: string } };
    if (resourceVersion === undefined || metadata?.uid !== uid) continue;
    if (type === 'DELETED' || metadata?.deletionTimestamp !== undefined) return resourceVersion;
  }
  throw new ApiError(0, 'Closed', 'the watch ended before the deletion came');
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'no answer in time';
  if (error instanceof ApiError) return error.reason;
  return errorText(error).replace(/\.$/, '');
}
