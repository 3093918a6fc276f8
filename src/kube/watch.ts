import { ApiError, statusError } from './api-error.ts';
import type { KubeClient } from './client.ts';
import { type Clock, systemClock } from './clock.ts';
import { splitLines } from './lines.ts';
import { maxObjectLength, parseObject } from './parse-object.ts';
import { streamUnlessSilent } from './silence.ts';

export interface WatchRequest {
  path: string;
  query?: Record<string, string | number | boolean | undefined> | undefined;
  accept?: string | undefined;
  /** The objects may come without `metadata.managedFields`, because the caller does not use them. */
  dropsManagedFields?: boolean | undefined;
  /** The server has accepted the watch. Events may come much later. */
  onOpen?: (() => void) | undefined;
  signal: AbortSignal;
}

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: unknown;
  /** `metadata.resourceVersion` of the object, from which a later watch can continue. */
  resourceVersion: string | undefined;
  /** Whether this bookmark ends the initial objects of a watch that began with `sendInitialEvents`. */
  endsInitial: boolean;
}

/**
 * One watch request, event by event, until the server ends it.
 *
 * @throws ApiError when the server refuses or reports an error in the stream; status 0 with reason `Silent` after 100 s
 *   without a byte; the signal's reason when `signal` aborted
 */
export async function* watchEvents(
  client: KubeClient,
  request: WatchRequest,
  clock: Clock = systemClock,
): AsyncGenerator<WatchEvent> {
  const query = { ...request.query, watch: true, allowWatchBookmarks: true };
  const { path, accept, signal } = request;
  const bytes = streamUnlessSilent(client, { path, query, accept, signal }, clock, request.onOpen);
  for await (const line of splitLines(bytes, maxObjectLength)) {
    const event = readEvent(line, request);
    if (event !== undefined) yield event;
  }
}

/** Reads three members of an event. A schema would need half a second for the 100,000 objects at the start. */
function readEvent(line: string, { path, dropsManagedFields }: WatchRequest): WatchEvent | undefined {
  const event = membersOf(parseObject(line, dropsManagedFields === true));
  const { type, object } = event;
  if (typeof type !== 'string') {
    throw new ApiError(0, 'InvalidResponse', `the watch of ${path} sent a line that is not an event`);
  }
  if (type === 'ERROR') throw statusError(undefined, object);
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED' && type !== 'BOOKMARK') return undefined;
  const { resourceVersion, annotations } = membersOf(membersOf(object).metadata);
  return {
    type,
    object,
    resourceVersion:
      typeof resourceVersion === 'string' && resourceVersion !== '' ? resourceVersion : undefined,
    endsInitial: type === 'BOOKMARK' && membersOf(annotations)['k8s.io/initial-events-end'] === 'true',
  };
}

const none: Readonly<Record<string, unknown>> = {};

/** The members of a JSON object; none if the value is not an object. */
function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : none;
}
