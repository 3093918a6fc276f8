import type { KubeClient } from '../../kube/client.ts';
import { resourcePath } from '../../kube/paths.ts';
import { reflect } from '../../kube/reflect.ts';
import type { Log } from '../../observe/log.ts';
import { failureText } from './failure-text.ts';
import type { FollowedList } from './followed-lists.ts';

export interface SelectedNamespaces {
  /** Resolves when the first complete list was reported. */
  readonly listed: Promise<void>;
  /** Why it was not reported yet; undefined if it was. */
  missing(): string | undefined;
  /** A line for `/readyz?verbose` if something is wrong. */
  remarks(): readonly string[];
}

/**
 * Follows the namespaces with the given labels: `added` is called for each that has them from now on, and `removed` for each
 * that lost them or was deleted. While the API server refuses or fails, the namespaces stay as they are. Runs until the
 * signal aborts.
 */
export function followSelected(options: {
  client: KubeClient;
  /** As kubectl takes it. */
  selector: string;
  list: FollowedList;
  log: Log;
  signal: AbortSignal;
  added: (namespace: string) => void;
  removed: (namespace: string) => void;
}): SelectedNamespaces {
  const { client, selector, list, log, signal, added, removed } = options;
  const names = new Set<string>();
  const listed = Promise.withResolvers<void>();
  let isListed = false;
  let failure: string | undefined;
  const empty = `no namespace has the labels ${selector}: label those to be served`;

  const add = (name: string): void => {
    if (names.has(name)) return;
    names.add(name);
    if (isListed) log.info({ namespace: name }, 'A namespace has the labels of the selector; it is served');
    added(name);
  };
  const remove = (name: string): void => {
    if (!names.delete(name)) return;
    log.info(
      { namespace: name },
      'A namespace was deleted or lost the labels of the selector; it is no longer served',
    );
    removed(name);
    if (names.size === 0) log.warn({ selector }, empty);
  };
  const works = (): void => {
    failure = undefined;
  };

  void reflect({
    client,
    path: resourcePath({ group: '', version: 'v1', plural: 'namespaces' }),
    query: { labelSelector: selector },
    metadataOnly: true,
    slim: nameOf,
    signal,
    sink: {
      replace(objects) {
        const now = new Set(objects as string[]);
        for (const name of [...names]) if (!now.has(name)) remove(name);
        for (const name of now) add(name);
        if (now.size === 0 && !isListed) log.warn({ selector }, empty);
        isListed = true;
        list.filled();
        listed.resolve();
      },
      set: (name) => add(name as string),
      remove: (name) => remove(name as string),
    },
    onOpen() {
      works();
      list.opened();
    },
    onEvent() {
      works();
      list.received();
    },
    onRestart(reason, error, waitMs) {
      if (reason !== 'closed' && reason !== 'expired') failure = failureText(error);
      if (list.restarts(reason, error)) {
        log.warn(
          { selector, reason, err: error, waitMs: Math.round(waitMs) },
          'The namespaces of the selector cannot be followed; those that are served stay. It needs list and watch on namespaces',
        );
      }
    },
  });

  return {
    listed: listed.promise,
    missing() {
      if (isListed) return undefined;
      const why = failure === undefined ? '' : `; last failure: ${failure}`;
      return `the namespaces with the labels ${selector}${why}`;
    },
    remarks() {
      if (!isListed) return [];
      if (failure !== undefined)
        return [`the namespaces with the labels ${selector} are not followed: ${failure}`];
      return names.size === 0 ? [empty] : [];
    },
  };
}

function nameOf(document: unknown): string {
  const name = (document as { metadata?: { name?: unknown } } | null)?.metadata?.name;
  if (typeof name !== 'string') throw new Error('The API server answered with a namespace that has no name.');
  return name;
}
