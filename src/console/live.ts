import { setTimeout } from 'node:timers/promises';
import { DeclarationError, type Declarations, type Declared } from '../cli/edit/declarations.ts';
import { rowOf } from './rows.ts';
import type { LiveChanges, LiveState, PageKind, Row } from './shapes.ts';

export const pageKinds: readonly PageKind[] = ['UpstreamNode', 'APIKey', 'MasterKey'];
/** How soon a watch that could not be had is asked for again. */
const retryMs = 5_000;

/** Everything the page shows, kept in step by one watch for each kind, however many pages are open. */
export interface Live {
  /** What the namespaces hold now. */
  state(): LiveState;
  declared<K extends PageKind>(kind: K): Iterable<Declared<K>>;
  /** Calls back after each change, until the function that it returns is called. */
  subscribe(listener: (change: LiveChanges) => void): () => void;
}

/** Watches until `signal` aborts. `namespace` undefined stands for all of them. */
export function watchLive(
  declarations: Declarations,
  namespace: string | undefined,
  signal: AbortSignal,
): Live {
  const known: { [K in PageKind]: Map<string, Declared<K>> } = {
    UpstreamNode: new Map(),
    APIKey: new Map(),
    MasterKey: new Map(),
  };
  const problems: Partial<Record<PageKind, string>> = {};
  const listeners = new Set<(change: LiveChanges) => void>();
  const tell = (set: readonly Row[], removed: LiveChanges['removed']): void => {
    for (const listener of listeners) listener({ set, removed, problems });
  };

  for (const kind of pageKinds) void follow(kind);
  return {
    state: () => ({
      rows: pageKinds.flatMap((kind) => [...known[kind].values()].map((one) => rowOf(one))),
      problems,
    }),
    declared: (kind) => known[kind].values(),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };

  async function follow<K extends PageKind>(kind: K): Promise<void> {
    while (!signal.aborted) {
      try {
        await declarations.watch(kind, namespace, ({ ref, after }) => see(kind, ref, after), signal);
      } catch (error) {
        if (signal.aborted) return;
        problems[kind] = error instanceof DeclarationError ? error.message : 'The watch failed.';
        tell([], []);
      }
      await setTimeout(retryMs, undefined, { signal }).catch(() => {});
    }
  }

  function see<K extends PageKind>(
    kind: K,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    after: Declared<K> | undefined,
  ): void {
    delete problems[kind];
    const id = `${namespace}/${name}`;
    if (after === undefined) {
      known[kind].delete(id);
      tell([], [{ kind, namespace, name }]);
    } else {
      known[kind].set(id, after);
      tell([rowOf(after)], []);
    }
  }
}
