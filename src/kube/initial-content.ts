import { ApiError } from './api-error.ts';
import { type Delivery, identity } from './delivery.ts';
import type { WatchEvent } from './watch.ts';

/** The two ways to read a complete content, and the functions that take it. */
export interface ContentSource {
  /** LIST: calls `take` for each object, and resolves with the version of the list. */
  list(take: (object: unknown) => void): Promise<string>;
  /** A watch with these parameters. */
  watch(query: Record<string, string>): AsyncIterable<WatchEvent>;
  /** The content is complete. */
  onComplete(objects: unknown[], resourceVersion: string): void;
  /** An event after the content was complete, in the same stream. */
  onEvent(event: WatchEvent): void;
}

/**
 * Reads a complete content, by LIST at first. If that fails, the next attempt uses one streaming request (WatchList, KEP-3157),
 * then LIST again, alternating; LIST fails if the server needs longer than a minute (a million keys). The one that succeeds is
 * used from then on. If the server refuses to stream (400, 422), LIST is used at once.
 * @returns a function that reads the content once. It resolves with true if it also followed the changes until the stream
 * ended, and throws the ApiError of a failure
 */
export function initialContent(source: ContentSource, delivery: Delivery): () => Promise<boolean> {
  let streams = false;
  return async () => {
    const isStreamed = streams;
    // Set before the request: if it fails, the next one is of the other sort, which may succeed.
    streams = !isStreamed;
    let isComplete = false;
    if (isStreamed) {
      try {
        await streamAll(source, delivery, () => {
          isComplete = true;
          streams = true;
        });
        return true;
      } catch (error) {
        if (isComplete || !refusesQuery(error)) throw error;
      }
    }
    const objects: unknown[] = [];
    const take = (kept: unknown): number => objects.push(kept);
    source.onComplete(objects, await source.list((object) => delivery.kept(object, take)));
    streams = false;
    return false;
  };
}

/** Reads a complete content and then follows its changes, in one request. */
async function streamAll(source: ContentSource, delivery: Delivery, onComplete: () => void): Promise<void> {
  let initial: Map<string, unknown> | undefined = new Map();
  const query = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
  for await (const event of source.watch(query)) {
    if (initial === undefined) {
      source.onEvent(event);
    } else if (event.endsInitial && event.resourceVersion !== undefined) {
      source.onComplete([...initial.values()], event.resourceVersion);
      initial = undefined;
      onComplete();
    } else if (event.type === 'DELETED') {
      initial.delete(identity(event.object, initial.size));
    } else if (event.type !== 'BOOKMARK') {
      const all = initial;
      delivery.kept(event.object, (kept) => all.set(identity(event.object, all.size), kept));
    }
  }
}

/** Whether the server refuses the parameters of a request. */
export function refusesQuery(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 422 || error.status === 400);
}
