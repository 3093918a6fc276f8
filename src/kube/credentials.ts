import { HttpMethod, RequestContext } from '@kubernetes/client-node';
import type { SharedKubeConfig } from './kubeconfig.ts';

/** What one request needs to reach the API server as the configured user. */
export interface Credentials {
  /** Address of the API server, which may have a path (clusters behind a proxy). */
  server: URL;
  headers: Record<string, string | string[]>;
  tls: SharedKubeConfig['tlsOptions'];
  namespace: string;
}

const REUSE_MS = 10_000;
const RELOAD_FILES_MS = 1_000;
const RELOAD_PLUGIN_MS = 10_000;

/**
 * Gives the credentials of the moment. Files (service account token, CA, kubeconfig) are read again at most every
 * 10 s; a plugin is asked again when its credential has expired, or on `renew`.
 *
 * `load` reads the configuration from its files; `monotonicMs` is a clock.
 */
export function followCredentials(load: () => SharedKubeConfig, monotonicMs: () => number) {
  let config = load();
  let loadedAt = monotonicMs();
  let current: Credentials | undefined;
  let currentAt = 0;
  // One at a time: ten requests at start must not start ten plugins.
  let pending: Promise<Credentials> | undefined;

  function reload() {
    try {
      config = load();
    } catch (error) {
      // Somebody is writing the file just now, or broke it: what worked so far may go on working.
      if (current === undefined) throw error;
    }
    loadedAt = monotonicMs();
  }

  async function read(): Promise<Credentials> {
    const known = config;
    const cluster = known.getCurrentCluster();
    if (cluster === null) throw new Error('the kubeconfig context names no cluster');
    const context = new RequestContext(cluster.server, HttpMethod.GET);
    await known.applySecurityAuthentication(context);
    const headers: Credentials['headers'] = {};
    // A token file usually ends in a newline, which is not allowed in a header.
    for (const [name, value] of Object.entries(context.getHeaders()))
      headers[name.toLowerCase()] = value.trim();
    if (known.impersonateGroups.length > 0) headers['impersonate-group'] = [...known.impersonateGroups];
    const namespace = known.getContextObject(known.getCurrentContext())?.namespace?.trim() || 'default';
    return { server: new URL(cluster.server), headers, tls: known.tlsOptions, namespace };
  }

  function refresh(): Promise<Credentials> {
    pending ??= read()
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
    namespace: () => config.getContextObject(config.getCurrentContext())?.namespace?.trim() || 'default',

    /** The context and the address of the API server, for people. */
    place: () => ({
      context: config.getCurrentContext() ?? '',
      server: config.getCurrentCluster()?.server ?? '',
    }),

    /** The credentials of the moment; rejects with the reason when a file or plugin gives none. */
    async get(): Promise<Credentials> {
      if (current !== undefined && monotonicMs() - currentAt < REUSE_MS) return current;
      if (!config.usesPlugin && monotonicMs() - loadedAt >= REUSE_MS) reload();
      return refresh();
    },

    /**
     * Called when the server refused `used` with a 401: gets newer ones if there may be any, otherwise undefined. Not
     * more than once a second (files) or ten seconds (plugin), so that a revoked user does not start a plugin per request.
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
