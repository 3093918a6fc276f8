import type { KubeConfig } from '@kubernetes/client-node';

/** The address and the credentials of one request to the API server. */
export interface Credentials {
  /** Address of the API server, which may have a path (clusters behind a proxy). */
  server: URL;
  headers: Record<string, string | string[]>;
  tls: TlsOptions;
  namespace: string;
}

export type TlsOptions = ReturnType<KubeConfig['createDispatcherOptions']>;

/** One cluster and user, as a kubeconfig or a pod's service account names them. */
export interface ClusterConfig {
  /** Whether getting a credential may start a program or call an identity provider, so that it is expensive. */
  readonly usesPlugin: boolean;
  /** Name of the context and address of the API server, for people; empty where there is none. */
  readonly context: string;
  readonly server: string;
  readonly namespace: string;
  /** The current credentials; rejects with the reason if a file or plugin returns none. */
  credentials(): Promise<Credentials>;
}

const REUSE_MS = 10_000;
const RELOAD_FILES_MS = 1_000;
const RELOAD_PLUGIN_MS = 10_000;

/**
 * Keeps the current credentials. Files (service account token, CA, kubeconfig) are read again at most every 10 s. A plugin
 * runs again when its credential has expired, or on `renew`.
 *
 * `load` reads the configuration from its files; `monotonicMs` is a clock.
 */
export function followCredentials(load: () => ClusterConfig, monotonicMs: () => number) {
  let config = load();
  let loadedAt = monotonicMs();
  let current: Credentials | undefined;
  let currentAt = 0;
  // One call at a time, so that ten requests at the start do not start ten plugins.
  let pending: Promise<Credentials> | undefined;

  function reload() {
    try {
      config = load();
    } catch (error) {
      // The file may be half written or damaged. The former configuration may still work.
      if (current === undefined) throw error;
    }
    loadedAt = monotonicMs();
  }

  function refresh(): Promise<Credentials> {
    pending ??= config
      .credentials()
      .then((credentials) => {
        current = credentials;
        currentAt = monotonicMs();
        return credentials;
      })
      .finally(() => {
        pending = undefined;
      });
    return pending;
  }

  return {
    /** The namespace of the context, or of the pod. */
    namespace: () => config.namespace,

    /** The context and the address of the API server, for people. */
    place: () => ({ context: config.context, server: config.server }),

    /** The current credentials; rejects with the reason when a file or plugin gives none. */
    async get(): Promise<Credentials> {
      if (current !== undefined && monotonicMs() - currentAt < REUSE_MS) return current;
      if (!config.usesPlugin && monotonicMs() - loadedAt >= REUSE_MS) reload();
      return refresh();
    },

    /**
     * Called if the server refused `used` with a 401. Returns newer credentials; undefined if there are none. It reads files at
     * most once a second and runs a plugin at most every ten seconds, so that a revoked user does not start one per request.
     */
    async renew(used: Credentials): Promise<Credentials | undefined> {
      if (current !== undefined && current !== used) return current;
      if (pending !== undefined) return pending;
      const pauseMs = config.usesPlugin ? RELOAD_PLUGIN_MS : RELOAD_FILES_MS;
      if (monotonicMs() - loadedAt < pauseMs) return undefined;
      reload();
      return refresh();
    },
  };
}
