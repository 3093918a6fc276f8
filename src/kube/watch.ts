import * as z from 'zod';
import { ApiError, statusError } from './api-error.ts';
import type { KubeClient } from './client.ts';
import { type Clock, systemClock } from './clock.ts';
import { cutManagedFields } from './cut-managed-fields.ts';
import { splitLines } from './lines.ts';

export interface WatchRequest {
  path: string;
  query?: Record<string, string | number | boolean | undefined> | undefined;
  accept?: string | undefined;
  /** `metadata.managedFields` are of no use: they may be missing from the objects. */
  dropsManagedFields?: boolean | undefined;
  signal: AbortSignal;
}

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: unknown;
  /** `metadata.resourceVersion` of the object, from where a later watch can go on. */
  resourceVersion: string | undefined;
  /** Whether this bookmark ends the initial objects of a watch that began with `sendInitialEvents`. */
  endsInitial: boolean;
}

/** More than one bookmark period (a minute): a connection silent for longer is dead without knowing it. */
const SILENCE_MS = 100_000;
/** etcd takes 1.5 MiB per object; JSON text of it may be some times larger. */
const LINE_LENGTH = 16 * 1024 * 1024;

const EVENT = z.object({ type: z.string(), object: z.unknown() });
const META = z.object({
  metadata: z.object({
    resourceVersion: z.string().optional(),
    annotations: z.record(z.string(), z.unknown()).nullish(),
  }),
});

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
  const silence = new AbortController();
  const silent = new ApiError(0, 'Silent', `the watch of ${request.path} was silent for ${SILENCE_MS} ms`);
  let cancel = clock.after(SILENCE_MS, () => silence.abort(silent));
  const heard = () => {
    cancel();
    cancel = clock.after(SILENCE_MS, () => silence.abort(silent));
  };
  try {
    const query = { ...request.query, watch: true, allowWatchBookmarks: true };
    const signal = AbortSignal.any([request.signal, silence.signal]);
    const bytes = await client.stream({ path: request.path, query, accept: request.accept, signal });
    for await (const line of splitLines(tap(bytes, heard), LINE_LENGTH)) {
      const event = readEvent(line, request);
      if (event !== undefined) yield event;
    }
  } finally {
    cancel();
  }
}

async function* tap(chunks: AsyncIterable<Uint8Array>, heard: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    heard();
    yield chunk;
  }
}

function readEvent(line: string, { path, dropsManagedFields }: WatchRequest): WatchEvent | undefined {
  const short = dropsManagedFields === true ? cutManagedFields(line) : undefined;
  const parsed = short === undefined ? undefined : parse(short);
  const event = EVENT.safeParse(parsed ?? parse(line)).data;
  if (event === undefined) {
    throw new ApiError(0, 'InvalidResponse', `the watch of ${path} sent a line that is not an event`);
  }
  const { type, object } = event;
  if (type === 'ERROR') throw statusError(undefined, object);
  if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED' && type !== 'BOOKMARK') return undefined;
  const metadata = META.safeParse(object).data?.metadata;
  return {
    type,
    object,
    resourceVersion: metadata?.resourceVersion || undefined,
    endsInitial: type === 'BOOKMARK' && metadata?.annotations?.['k8s.io/initial-events-end'] === 'true',
  };
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
