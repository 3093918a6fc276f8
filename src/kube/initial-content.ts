import { ApiError } from './api-error.ts';
import { type Delivery, identity } from './delivery.ts';
import type { WatchEvent } from './watch.ts';

/** How a complete content can be had. */
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
 * Takes a complete content: by LIST, and if that fails, as it does if the server needs longer than a minute (a million
 * keys), the next time by one streaming request (WatchList, KEP-3157), alternating until one succeeds, which is used from
 * then on. A server that refuses to stream (400, 422) is asked for a list at once.
 * @returns a function that takes the content once and resolves with whether its changes were followed, too, until the
 * stream ended; it throws what the server answered
 */
export function initialContent(source: ContentSource, delivery: Delivery): () => Promise<boolean> {
  let streams = false;
  return async () => {
    const isStreamed = streams;
    // Unless this one succeeds, the other is next: what fails the one need not fail the other.
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

/** A complete content and then its changes, in one request. */
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

/** Whether the server does not take the parameters of a request. */
export function refusesQuery(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 422 || error.status === 400);
}
