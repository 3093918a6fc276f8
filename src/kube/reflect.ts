import { ApiError } from './api-error.ts';
import type { KubeClient } from './client.ts';
import { type Clock, pause, systemClock } from './clock.ts';
import { type DeliveryOptions, deliveryTo } from './delivery.ts';
import type { limitInFlight } from './in-flight.ts';
import { initialContent, refusesQuery } from './initial-content.ts';
import { listObjects } from './list.ts';
import { type RestartReason, restartPolicy, restartReason } from './restart-policy.ts';
import { isServed } from './served.ts';
import { type WatchEvent, watchEvents } from './watch.ts';

export interface ReflectOptions extends DeliveryOptions {
  client: KubeClient;
  /** Path of a list, as `resourcePath` builds it. */
  path: string;
  query?: { labelSelector?: string | undefined; fieldSelector?: string | undefined } | undefined;
  /** Ask for name, labels and other metadata only (PartialObjectMetadata): Secrets' data then never comes here. */
  metadataOnly?: boolean | undefined;
  signal: AbortSignal;
  /** Limits how many lists run at the same time (`limitInFlight`), if many are followed. */
  inTurn?: ReturnType<typeof limitInFlight> | undefined;
  clock?: Clock | undefined;
  /** Numbers in [0, 1). */
  random?: (() => number) | undefined;
  /** The watch ended and starts again in `waitMs`. Also called for each 401 and 403, which are retried indefinitely. */
  onRestart?: ((reason: RestartReason, error: unknown, waitMs: number) => void) | undefined;
  /** A complete list begins, and it is not the first. */
  onRelist?: (() => void) | undefined;
  /** The server has older versions than were seen before, because a backup of its data was restored. */
  onTurnedBack?: (() => void) | undefined;
  /** The server no longer serves this resource (its CRD was deleted): the sink has been emptied. */
  onGone?: (() => void) | undefined;
  /** The server accepted a watch, so an earlier refusal or failure is over. */
  onOpen?: (() => void) | undefined;
  /** The server sent an event, a bookmark or a complete list. */
  onEvent?: (() => void) | undefined;
  /**
   * The sink has everything up to this version, or nothing that is up to date (undefined). Called after the sink.
   */
  onVersion?: ((version: string | undefined) => void) | undefined;
}

const METADATA_ONLY = {
  list: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  watch: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
};

/**
 * Keeps `sink` equal to a list of resources in the API server until `signal` aborts; then it resolves. It never
 * rejects: it retries after every fault, with the content as it was.
 *
 * It takes a complete content (`initialContent`) and watches from its version. After an interruption it continues from
 * the last version seen. If the server has forgotten that version (410), or has not reached it (a backup of etcd was
 * restored), it takes a complete content again, and the sink keeps the old one until that is there. If the server says
 * that it no longer serves the resource, the sink is emptied: the CRD was deleted with all its objects, and the watch may
 * have ended before it reported them.
 */
export async function reflect(options: ReflectOptions): Promise<void> {
  const { client, path, signal, clock = systemClock, random = Math.random } = options;
  const policy = restartPolicy(random);
  const delivery = deliveryTo(options);
  const accept = options.metadataOnly === true ? METADATA_ONLY : { list: undefined, watch: undefined };
  const dropsManagedFields = options.managedFields !== true;
  let version: string | undefined;
  let filled = false;
  let gone = false;
  let hasFailed = false;
  /** The sink threw for an event since the last complete content. */
  let lacksOne = false;

  function received() {
    policy.received();
    options.onEvent?.();
  }

  function watch(query: Record<string, string>): AsyncGenerator<WatchEvent> {
    const timeoutSeconds = 300 + Math.floor(random() * 301);
    const all = { ...options.query, ...query, timeoutSeconds };
    const { onOpen } = options;
    const request = { path, query: all, accept: accept.watch, dropsManagedFields, onOpen, signal };
    return watchEvents(client, request, clock);
  }

  function onEvent(event: WatchEvent) {
    if (!delivery.apply(event)) lacksOne = true;
    if (event.resourceVersion !== undefined && event.resourceVersion !== version) {
      version = event.resourceVersion;
      options.onVersion?.(lacksOne ? undefined : version);
    }
    received();
  }

  const begin = initialContent(
    {
      watch,
      list: (take) => {
        const request = { path, query: options.query, accept: accept.list, dropsManagedFields, signal };
        const list = () => listObjects(client, request, take, clock);
        return options.inTurn === undefined ? list() : options.inTurn(signal, list);
      },
      onComplete(objects, resourceVersion) {
        delivery.replace(objects, resourceVersion);
        version = resourceVersion;
        filled = true;
        gone = false;
        hasFailed = false;
        lacksOne = false;
        options.onVersion?.(version);
        received();
      },
      onEvent,
    },
    delivery,
  );

  /**
   * Checks that the server has reached a version. It accepts a watch from a later version and sends nothing for hours, while
   * keys are revoked; but it refuses a list from that version (`ResourceVersionTooLarge`). A backup is only restored while no
   * server answers, so a check after a failure is enough.
   */
  async function askWhetherReached(known: string) {
    const query = {
      ...options.query,
      limit: 1,
      resourceVersion: known,
      resourceVersionMatch: 'NotOlderThan',
    };
    try {
      await client.request({ method: 'GET', path, query, accept: accept.list, signal });
    } catch (error) {
      if (!refusesQuery(error)) throw error;
    }
    hasFailed = false;
  }

  async function follow() {
    if (version === undefined) {
      if (filled) options.onRelist?.();
      if (await begin()) return;
    } else if (hasFailed) {
      await askWhetherReached(version);
    }
    for await (const event of watch({ resourceVersion: version ?? '' })) onEvent(event);
  }

  async function emptyIfGone() {
    if (!filled || gone) return;
    // If the API server does not answer whether it serves the resource, the content stays.
    const served = await isServed(client, path, signal).catch(() => true);
    if (served || signal.aborted) return;
    version = undefined;
    gone = true;
    delivery.replace([], '');
    options.onVersion?.(undefined);
    options.onGone?.();
  }

  while (!signal.aborted) {
    const began = clock.monotonicMs();
    let fault: unknown;
    try {
      await follow();
    } catch (error) {
      fault = error;
    }
    if (signal.aborted) return;
    const reason = restartReason(fault);
    if (reason === 'expired') version = undefined;
    if (fault instanceof ApiError && fault.reason === 'ResourceVersionTooLarge') {
      options.onVersion?.(undefined);
      options.onTurnedBack?.();
    }
    if (reason === 'missing') await emptyIfGone();
    hasFailed ||= fault !== undefined;
    const waitMs = policy.waitMs(reason, fault, clock.monotonicMs() - began);
    options.onRestart?.(reason, fault, waitMs);
    await pause(clock, waitMs, signal);
  }
}
