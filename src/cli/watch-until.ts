import type { Kind } from '../store/store.ts';
import type { CommandContext } from './context.ts';
import type { Change, Declarations } from './edit/declarations.ts';

/**
 * Watches the resources of a kind in the place's namespace until `isDone` returns true, or the time is over. Zero
 * milliseconds mean no limit. Throws what the watch throws, and the reason of the context's signal.
 */
export async function watchUntil<K extends Kind>(
  { clock, signal }: CommandContext,
  place: Declarations,
  kind: K,
  timeoutMs: number,
  isDone: (change: Change<K>) => boolean,
): Promise<void> {
  const done = new AbortController();
  const cancel = timeoutMs > 0 ? clock.after(timeoutMs, () => done.abort()) : () => {};
  const sink = (change: Change<K>): void => {
    if (isDone(change)) done.abort();
  };
  try {
    await place.watch(kind, place.namespace, sink, AbortSignal.any([signal, done.signal]));
  } catch (error) {
    if (!done.signal.aborted) throw error;
  } finally {
    cancel();
  }
  signal.throwIfAborted();
}

/** What is printed if a command should wait for the controller, and cannot see what that did. */
export const cannotWait = "The result is in the gateway's data folder: add --data DIR to wait for it.\n";
