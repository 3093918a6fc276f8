import { ApiError } from '../../kube/api-error.ts';
import { errorCode } from '../../observe/error-text.ts';

/** How many of those that are missing are named. */
const mostNamed = 4;

export interface FirstList {
  filled(): void;
  failed(error: unknown): void;
  /** Settles when it is filled. */
  readonly done: Promise<void>;
}

/** Which first complete lists are still missing, and why, for whoever asks why a process is not ready. */
export class FirstLists {
  readonly #missing = new Set<string>();
  #failure: string | undefined;

  /** Begins to wait for the list of a kind, in one namespace or in all. */
  wait(kind: string, namespace: string | undefined): FirstList {
    const name = `${kind} in ${namespace === undefined ? 'all namespaces' : `namespace ${namespace}`}`;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#missing.add(name);
    return {
      filled: () => {
        this.#missing.delete(name);
        resolve();
      },
      failed: (error) => {
        if (this.#missing.has(name)) this.#failure = `last failure, of ${kind}: ${failureText(error)}`;
      },
      done: promise,
    };
  }

  /** Undefined when none is. Short, and without anything that the API server or a plugin wrote but its reason. */
  missing(): string | undefined {
    if (this.#missing.size === 0) return undefined;
    const names = [...this.#missing];
    const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : '';
    const named = `${names.slice(0, mostNamed).join(', ')}${more}`;
    return this.#failure === undefined ? named : `${named}; ${this.#failure}`;
  }
}

function failureText(error: unknown): string {
  if (!(error instanceof ApiError)) return 'it failed unexpectedly; the log says how';
  const words = [error.reason, errorCode(error.cause) ?? ''].filter((word) =>
    /^[A-Za-z0-9_]{1,64}$/.test(word),
  );
  const why = words.length === 0 ? '' : ` (${words.join(', ')})`;
  if (error.status === 0) return `the API server gave no usable answer${why}`;
  const remedy = remedies[error.status];
  return `the API server answered ${error.status}${why}${remedy === undefined ? '' : `; ${remedy}`}`;
}

const remedies: Readonly<Record<number, string>> = {
  401: 'check the token or certificate of the service account',
  403: 'grant the service account "get", "list" and "watch" on it',
  404: 'apply the CRDs',
};
