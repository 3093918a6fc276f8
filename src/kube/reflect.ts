import { ApiError } from './api-error.ts';
import { doublingBackoff } from './backoff.ts';
import type { KubeClient } from './client.ts';
import { type Clock, pause, systemClock } from './clock.ts';
import { listObjects } from './list.ts';
import { isServed } from './served.ts';
import { type WatchEvent, watchEvents } from './watch.ts';

interface ReflectSink {
  /** The complete content as of a version, at the start and after the server forgot the last: what is not in it is gone. */
  replace(objects: unknown[], resourceVersion: string): void;
  set(object: unknown): void;
  /** Gets the last state of the deleted object; if `slim` threw, as it came. */
  remove(object: unknown): void;
}

/** Why a watch had to begin anew; a closed set, fit for a metric label. */
type RestartReason = 'closed' | 'error' | 'expired' | 'forbidden' | 'missing' | 'silence' | 'unauthorized';

export interface ReflectOptions {
  client: KubeClient;
  /** Path of a list, as `resourcePath` builds it. */
  path: string;
  query?: { labelSelector?: string | undefined; fieldSelector?: string | undefined } | undefined;
  /** Ask for name, labels and other metadata only (PartialObjectMetadata): Secrets' data then never comes here. */
  metadataOnly?: boolean | undefined;
  sink: ReflectSink;
  /** Leave `managedFields` in the objects; two fifths of a small one's text, and of use to editors alone. */
  managedFields?: boolean | undefined;
  /**
   * Called on each object as it arrives, to keep only what is used; `managedFields` are gone unless asked for. An object for
   * which it throws is left out, of a list too; deleted, it is removed as it came.
   */
  slim?: ((object: unknown) => unknown) | undefined;
  signal: AbortSignal;
  clock?: Clock | undefined;
  /** Numbers in [0, 1). */
  random?: (() => number) | undefined;
  /** The watch ended and begins anew in `waitMs`; 401 and 403 are said here each time, and tried again for ever. */
  onRestart?: ((reason: RestartReason, error: unknown, waitMs: number) => void) | undefined;
  /** A complete list begins although there was one before. */
  onRelist?: (() => void) | undefined;
  /** The server's versions are older than what was seen: an older state of its data is in place (a restored backup). */
  onTurnedBack?: (() => void) | undefined;
  /** The server serves no such resource any more (its definition was deleted): the sink has been emptied. */
  onGone?: (() => void) | undefined;
  /** A sign of life: an event, a bookmark or a complete list. */
  onEvent?: (() => void) | undefined;
  /** The sink or `slim` threw; the stream goes on with the next object. */
  onSinkError?: ((error: unknown) => void) | undefined;
}

/** How long a watch must have gone on for its end to be the one that was agreed on. */
const LIVED_MS = 60_000;
/** Spreads the watches of a fleet that a server ends together. */
const RESUME_SPREAD_MS = 100;
const METADATA_ONLY = {
  list: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  watch: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
};

/**
 * Keeps `sink` equal to a list of resources in the API server until `signal` aborts; then it resolves. It never
 * rejects: every fault is waited out, with the content as it was.
 *
 * It begins with a list and a watch from its version. Where the list fails, as one does that takes the server longer than a minute
 * (a million keys), the next beginning is one streaming request (KEP-3157), and so in turn until one succeeds, by which it begins
 * from then on. A server that refuses to stream (400, 422) is asked for a list at once.
 * After an interruption it goes on from the last version seen; when the server has forgotten that one (410), or has not
 * come that far (a backup of etcd was restored), it takes a new complete list, and the sink keeps the old content until
 * that is there. A resource that the server says it serves no more has no objects: with a definition its objects are
 * deleted, but the watch may end before it has told of them.
 */
export async function reflect(options: ReflectOptions): Promise<void> {
  const { client, path, sink, signal, clock = systemClock, random = Math.random } = options;
  const backoff = doublingBackoff(random);
  const accept = options.metadataOnly === true ? METADATA_ONLY : { list: undefined, watch: undefined };
  const dropsManagedFields = options.managedFields !== true;
  let version: string | undefined;
  let filled = false;
  let gone = false;
  let streams = false;
  let wasReached = true;
  let mayHurry = true;
  let hasFailed = false;

  function guard(deliver: () => void) {
    try {
      deliver();
    } catch (error) {
      options.onSinkError?.(error);
    }
  }

  /** Gives an object to `deliver` as it is kept. One that cannot be slimmed is left out: the sink knows no other form. */
  function slimmed(object: unknown, deliver: (kept: unknown) => void) {
    if (dropsManagedFields) dropManagedFields(object);
    guard(() => deliver(options.slim === undefined ? object : options.slim(object)));
  }

  function remove(object: unknown) {
    let last = object;
    slimmed(object, (kept) => {
      last = kept;
    });
    // Whatever is wrong with it: an object that was deleted must not stay in force.
    guard(() => sink.remove(last));
  }

  function fill(objects: unknown[], resourceVersion: string) {
    guard(() => sink.replace(objects, resourceVersion));
    version = resourceVersion;
    filled = true;
    gone = false;
    hasFailed = false;
    heard();
  }

  function heard() {
    backoff.reset();
    mayHurry = true;
    options.onEvent?.();
  }

  function watch(query: Record<string, string>): AsyncGenerator<WatchEvent> {
    const timeoutSeconds = 300 + Math.floor(random() * 301);
    const all = { ...options.query, ...query, timeoutSeconds };
    const request = { path, query: all, accept: accept.watch, dropsManagedFields, signal };
    return watchEvents(client, request, clock);
  }

  function deliver(event: WatchEvent) {
    if (event.type === 'DELETED') remove(event.object);
    else if (event.type !== 'BOOKMARK') slimmed(event.object, (kept) => sink.set(kept));
    version = event.resourceVersion ?? version;
    heard();
  }

  /** A complete content and then its changes, in one request. */
  async function streamAll() {
    let initial: Map<string, unknown> | undefined = new Map();
    const query = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
    for await (const event of watch(query)) {
      if (initial === undefined) {
        deliver(event);
      } else if (event.endsInitial && event.resourceVersion !== undefined) {
        fill([...initial.values()], event.resourceVersion);
        initial = undefined;
        streams = true;
      } else if (event.type === 'DELETED') {
        initial.delete(identity(event.object, initial.size));
      } else if (event.type !== 'BOOKMARK') {
        const all = initial;
        slimmed(event.object, (kept) => all.set(identity(event.object, all.size), kept));
      }
    }
  }

  async function listAll() {
    const objects: unknown[] = [];
    const request = { path, query: options.query, accept: accept.list, dropsManagedFields, signal };
    const take = (kept: unknown) => objects.push(kept);
    fill(objects, await listObjects(client, request, (object) => slimmed(object, take), clock));
  }

  /** A complete content by one of the two ways; whether its changes have been followed, too. */
  async function begin(): Promise<boolean> {
    if (filled) options.onRelist?.();
    const isStreamed = streams;
    // Unless this one succeeds, the other is next: what fails the one need not fail the other.
    streams = !isStreamed;
    if (isStreamed) {
      try {
        await streamAll();
        return true;
      } catch (error) {
        if (version !== undefined || !refusesQuery(error)) throw error;
      }
    }
    await listAll();
    streams = false;
    return false;
  }

  /**
   * A watch from a version that the server has not come to yet is taken and silent, for hours, while keys are revoked. A list
   * no older than that version is refused (`ResourceVersionTooLarge`). Data is exchanged only while no server answers.
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
      if (await begin()) return;
    } else if (hasFailed) {
      await askWhetherReached(version);
    }
    for await (const event of watch({ resourceVersion: version ?? '' })) deliver(event);
  }

  async function emptyIfGone() {
    if (!filled || gone) return;
    // Whoever can't tell leaves the content as it is.
    const served = await isServed(client, path, signal).catch(() => true);
    if (served || signal.aborted) return;
    version = undefined;
    gone = true;
    guard(() => sink.replace([], ''));
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
    if (fault instanceof ApiError && fault.reason === 'ResourceVersionTooLarge') options.onTurnedBack?.();
    if (reason === 'missing') await emptyIfGone();
    // The first answer after an outage, mostly a 410: to wait for as long as while nobody answered would keep revoked
    // keys open for another half a minute. Only once until something is heard, or a failing server would be rushed.
    const isReached = !(fault instanceof ApiError && fault.status === 0);
    if (isReached && !wasReached && mayHurry) {
      backoff.reset();
      mayHurry = false;
    }
    wasReached = isReached;
    hasFailed ||= fault !== undefined;
    const hasLived = reason === 'closed' && clock.monotonicMs() - began > LIVED_MS;
    // A quiet server without bookmarks ends a good watch without an event.
    if (hasLived) backoff.reset();
    // Its time was up: whoever revokes a key now need not wait for a watch that has nothing to recover from.
    const waitMs = hasLived
      ? random() * RESUME_SPREAD_MS
      : backoff.next(fault instanceof ApiError ? fault.retryAfterMs : undefined);
    options.onRestart?.(reason, fault, waitMs);
    await pause(clock, waitMs, signal);
  }
}

function refusesQuery(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 422 || error.status === 400);
}

function restartReason(fault: unknown): RestartReason {
  if (fault === undefined) return 'closed';
  if (!(fault instanceof ApiError)) return 'error';
  const { status, reason } = fault;
  if (status === 410 || reason === 'Expired' || reason === 'Gone' || reason === 'ResourceVersionTooLarge') {
    return 'expired';
  }
  if (reason === 'Silent') return 'silence';
  if (status === 401) return 'unauthorized';
  if (status === 403) return 'forbidden';
  return status === 404 ? 'missing' : 'error';
}

interface Meta {
  metadata?: { namespace?: unknown; name?: unknown; managedFields?: unknown };
}

function identity(object: unknown, fallback: number): string {
  const metadata = (object as Meta | null)?.metadata;
  return typeof metadata?.name === 'string'
    ? `${typeof metadata.namespace === 'string' ? metadata.namespace : ''}/${metadata.name}`
    : `#${fallback}`;
}

/** Half of an object's size in memory, and of no use to a reader. */
function dropManagedFields(object: unknown) {
  const metadata = (object as Meta | null)?.metadata;
  if (typeof metadata !== 'object' || metadata === null || metadata.managedFields === undefined) return;
  // Not deleted: V8 would turn the rest into a hash table, which takes more than what was saved.
  metadata.managedFields = undefined;
}
