import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { DeclarationError, type Declarations, type Declared } from '../cli/edit/declarations.ts';
import { problemText } from '../store/folder/manifest-problems.ts';
import { rowOf } from './rows.ts';
import type { LiveChanges, LiveState, ManifestProblems, PageKind, Row } from './shapes.ts';

export const pageKinds: readonly PageKind[] = ['UpstreamNode', 'APIKey', 'MasterKey'];
/** How soon a watch that failed or broke is started again. */
const retryMs = 3_000;
/** How often problems of the files are read: a file without any valid document changes no resource. */
const manifestsMs = 1_000;
const mostLines = 20;
/** How long the watches continue after the last page has closed, so that a reload finds them. */
const lingerMs = 30_000;

/** Everything the page shows, kept up to date by one watch for each kind while any page is open. */
export interface Live {
  /** The content of the namespaces, after the first read. */
  state(): Promise<LiveState>;
  declared<K extends PageKind>(kind: K): Promise<Iterable<Declared<K>>>;
  /** Calls back after each change, until the function that it returns is called. */
  subscribe(listener: (change: LiveChanges) => void): () => void;
}

/** Watches until `signal` aborts; all namespaces if `namespace` is undefined. */
export function createLive(
  declarations: Declarations,
  namespace: string | undefined,
  signal: AbortSignal,
): Live {
  const listeners = new Set<(change: LiveChanges) => void>();
  let watches: Watches | undefined;
  let ending: AbortController | undefined;

  const watched = (): Watches => {
    ending?.abort();
    watches ??= new Watches(declarations, namespace, signal, (change) => {
      for (const listener of listeners) listener(change);
    });
    if (listeners.size === 0) endSoon();
    return watches;
  };
  const endSoon = (): void => {
    ending?.abort();
    const timer = new AbortController();
    ending = timer;
    setTimeout(lingerMs, undefined, { signal: timer.signal, ref: false }).then(
      () => {
        watches?.end();
        watches = undefined;
      },
      () => {},
    );
  };

  return {
    async state() {
      const now = watched();
      await now.listed;
      const rows = pageKinds.flatMap((kind) => [...now.known[kind].values()].map((one) => rowOf(one)));
      return { rows, problems: now.problems, old: now.old, manifests: now.manifests };
    },
    async declared(kind) {
      const { listed, known } = watched();
      await listed;
      return known[kind].values();
    },
    subscribe(listener) {
      listeners.add(listener);
      watched();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) endSoon();
      };
    },
  };
}

/** A watch of each kind, and what they reported. */
class Watches {
  readonly known: { readonly [K in PageKind]: Map<string, Declared<K>> } = {
    UpstreamNode: new Map(),
    APIKey: new Map(),
    MasterKey: new Map(),
  };
  readonly problems: Partial<Record<PageKind, string>> = {};
  manifests: ManifestProblems = { lines: [], count: 0 };
  readonly #faults = new Map<PageKind, string>();
  /** Settles when each kind was read, or could not be. */
  readonly listed: Promise<unknown>;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #tell: (change: LiveChanges) => void;

  constructor(
    declarations: Declarations,
    namespace: string | undefined,
    signal: AbortSignal,
    tell: (change: LiveChanges) => void,
  ) {
    this.#signal = AbortSignal.any([signal, this.#stop.signal]);
    this.#tell = tell;
    const manifests = this.#followManifests(declarations);
    this.listed = Promise.all([
      manifests.first,
      ...pageKinds.map(
        (kind) => new Promise<void>((resolve) => void this.#follow(declarations, kind, namespace, resolve)),
      ),
    ]);
  }

  /** Why what is known may be old. */
  get old(): string | undefined {
    return [...this.#faults.values()][0];
  }

  end(): void {
    this.#stop.abort();
  }

  async #follow<K extends PageKind>(
    declarations: Declarations,
    kind: K,
    namespace: string | undefined,
    listed: () => void,
  ): Promise<void> {
    while (!this.#signal.aborted) {
      const attempt = new AbortController();
      const signal = AbortSignal.any([this.#signal, attempt.signal]);
      const seen = new Set<string>();
      const see: Parameters<typeof declarations.watch<K>>[2] = ({ ref, after }) => {
        seen.add(idOf(ref));
        this.#see(kind, ref, after);
      };
      const whole = (): void => {
        this.#whole(kind, seen);
        listed();
      };
      // A resumed watch reports nothing until something changes; a new one reports at once that it works.
      const faulty = (why: string): void => {
        this.#faults.set(kind, why);
        this.#say([], []);
        attempt.abort();
      };
      try {
        await declarations.watch(kind, namespace, see, signal, whole, faulty);
      } catch (error) {
        if (this.#signal.aborted) break;
        if (!attempt.signal.aborted) {
          this.problems[kind] = error instanceof DeclarationError ? error.message : 'The watch failed.';
          this.#say([], []);
        }
      }
      listed();
      await setTimeout(retryMs, undefined, { signal: this.#signal }).catch(() => {});
    }
    listed();
  }

  #followManifests(declarations: Declarations): { readonly first: Promise<void> } {
    const look = async (): Promise<void> => {
      // A folder that cannot be read is what the watches report.
      const found = await declarations.manifestProblems().catch(() => undefined);
      const fault = await declarations.dataProblem?.();
      if (found === undefined || this.#signal.aborted) return;
      const lines = [...(fault === undefined ? [] : [fault]), ...found.slice(0, mostLines).map(problemText)];
      const now = { lines, count: found.length + (fault === undefined ? 0 : 1) };
      if (isDeepStrictEqual(now, this.manifests)) return;
      this.manifests = now;
      this.#say([], []);
    };
    const first = look();
    const follow = async (): Promise<void> => {
      await first;
      while (!this.#signal.aborted) {
        await setTimeout(manifestsMs, undefined, { signal: this.#signal, ref: false }).catch(() => {});
        await look();
      }
    };
    void follow();
    return { first };
  }

  /** A watch has listed everything: other objects were deleted, and earlier faults are over. */
  #whole(kind: PageKind, seen: ReadonlySet<string>): void {
    const known: Map<string, { readonly resource: { readonly metadata: Name } }> = this.known[kind];
    const gone = [...known]
      .filter(([id]) => !seen.has(id))
      .map(([id, { resource }]) => {
        known.delete(id);
        return { kind, namespace: resource.metadata.namespace, name: resource.metadata.name };
      });
    const wasWrong = this.#faults.delete(kind) || kind in this.problems;
    delete this.problems[kind];
    if (gone.length > 0 || wasWrong) this.#say([], gone);
  }

  #see<K extends PageKind>(kind: K, { namespace, name }: Name, after: Declared<K> | undefined): void {
    const known: Map<string, Declared<K>> = this.known[kind];
    const id = idOf({ namespace, name });
    if (after === undefined) {
      known.delete(id);
      this.#say([], [{ kind, namespace, name }]);
    } else {
      known.set(id, after);
      this.#say([rowOf(after)], []);
    }
  }

  #say(set: readonly Row[], removed: LiveChanges['removed']): void {
    this.#tell({ set, removed, problems: this.problems, old: this.old, manifests: this.manifests });
  }
}

interface Name {
  readonly namespace: string;
  readonly name: string;
}

const idOf = ({ namespace, name }: Name): string => `${namespace}/${name}`;
