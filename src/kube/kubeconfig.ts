import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node';
import { parse } from 'yaml';
import * as z from 'zod';
import { checkKubeconfig } from './check-kubeconfig.ts';
import type { ClusterConfig, Credentials, TlsOptions } from './credentials.ts';

export interface KubeconfigSource {
  /** Path of a kubeconfig file. Absent: `$KUBECONFIG`, `~/.kube/config`, then the pod's service account. */
  kubeconfig?: string | undefined;
  /** Name of the context to use; absent means the file's current one. */
  context?: string | undefined;
  /** Address of the API server in place of the context's. */
  server?: string | undefined;
  /** Bearer token in place of the context's credentials. */
  token?: string | undefined;
  /** User to act as; the configured user needs the permission to impersonate. */
  as?: string | undefined;
  /** Groups to act as a member of; with `as`. */
  asGroups?: readonly string[] | undefined;
}

/**
 * client-node's KubeConfig, except that it hands out its TLS options instead of building a new undici Agent for every
 * request (20 requests made 20 TLS handshakes), and that it knows a user's `tokenFile` (without it such a user would be
 * anonymous).
 */
export class SharedKubeConfig extends KubeConfig implements ClusterConfig {
  #tls: TlsOptions = { type: 'none' };
  /** Values of `Impersonate-Group`, which client-node cannot hold. */
  impersonateGroups: readonly string[] = [];

  override createDispatcherOptions(...args: Parameters<KubeConfig['createDispatcherOptions']>): TlsOptions {
    this.#tls = super.createDispatcherOptions(...args);
    return { type: 'none' };
  }

  override loadFromFile(...args: Parameters<KubeConfig['loadFromFile']>): void {
    super.loadFromFile(...args);
    const [file] = args;
    const tokenFiles = tokenFilesIn(readFileSync(file, 'utf8'));
    this.users = this.users.map((user) => {
      const named = tokenFiles.get(user.name);
      if (named === undefined) return user;
      // This provider reads the file again when the token rotates. As in kubectl, `tokenFile` has precedence over `token`.
      const tokenFile = resolve(dirname(file), named);
      const { token: _, ...rest } = user;
      return { ...rest, authProvider: { name: 'tokenFile', config: { tokenFile } } };
    });
  }

  get context(): string {
    return this.getCurrentContext() ?? '';
  }

  get server(): string {
    return this.getCurrentCluster()?.server ?? '';
  }

  get namespace(): string {
    return this.getContextObject(this.getCurrentContext())?.namespace?.trim() || 'default';
  }

  async credentials(): Promise<Credentials> {
    const cluster = this.getCurrentCluster();
    if (cluster === null) throw new Error('the kubeconfig context names no cluster');
    const context = new RequestContext(cluster.server, HttpMethod.GET);
    await this.applySecurityAuthentication(context);
    const headers: Credentials['headers'] = {};
    // A token file usually ends in a newline, which is not allowed in a header.
    for (const [name, value] of Object.entries(context.getHeaders()))
      headers[name.toLowerCase()] = value.trim();
    if (this.impersonateGroups.length > 0) headers['impersonate-group'] = [...this.impersonateGroups];
    return { server: new URL(cluster.server), headers, tls: this.#tls, namespace: this.namespace };
  }

  get usesPlugin(): boolean {
    const user = this.getCurrentUser();
    const provider: unknown = user?.authProvider?.name;
    return Boolean(user?.exec) || (typeof provider === 'string' && provider !== 'tokenFile');
  }
}

const tokenFilesSchema = z.object({
  users: z.array(
    z.object({ name: z.string(), user: z.object({ tokenFile: z.string().optional() }).nullish() }),
  ),
});

/** The `tokenFile` of each user that has one, by the user's name. */
function tokenFilesIn(text: string): Map<string, string> {
  const parsed = tokenFilesSchema.safeParse(parse(text));
  const users = parsed.success ? parsed.data.users : [];
  return new Map(users.flatMap(({ name, user }) => (user?.tokenFile ? [[name, user.tokenFile]] : [])));
}

/**
 * Loads the configuration of one cluster and user, reading every file again.
 *
 * @throws Error naming the file or context and what to do about it
 */
export function loadKubeconfig(source: KubeconfigSource): SharedKubeConfig {
  const config = new SharedKubeConfig();
  let folder: string | undefined;
  if (source.kubeconfig !== undefined) {
    loadFile(config, source.kubeconfig);
    folder = dirname(source.kubeconfig);
  } else {
    loadDefault(config);
    if (config.getCurrentContext() === 'loaded-context' && source.server === undefined) {
      throw new Error(
        'no cluster configuration found: set KUBECONFIG, create ~/.kube/config, or run in a pod with a service account',
      );
    }
    folder = defaultFolder();
  }
  if (source.context !== undefined) selectContext(config, source.context);
  override(config, source);
  checkKubeconfig(config);
  checkCluster(config);
  prepareExecPlugin(config, folder);
  return config;
}

/** Applies the flags that override the file. */
function override(config: SharedKubeConfig, { server, token, as, asGroups = [] }: KubeconfigSource) {
  const { clusters, users } = config;
  if (server !== undefined) {
    const current = config.getCurrentCluster()?.name;
    config.clusters = clusters.map((each) => (each.name === current ? { ...each, server } : each));
  }
  const user = config.getCurrentUser()?.name;
  if ((token !== undefined || as !== undefined) && user === undefined) {
    throw new Error('the kubeconfig context names no user whose credentials --token or --as could change');
  }
  config.users = users.map((each) => {
    if (each.name !== user) return each;
    const own = token === undefined ? each : { name: each.name, token };
    return as === undefined ? own : { ...own, impersonateUser: as };
  });
  if (asGroups.length > 0 && as === undefined) throw new Error('--as-group needs --as: name the user too');
  config.impersonateGroups = asGroups;
}

/** Path of the kubeconfig that is used without a flag; undefined in a pod whose user has no home directory. */
function defaultFolder(): string | undefined {
  const [named] = process.env['KUBECONFIG']?.split(delimiter) ?? [];
  if (named) return dirname(named);
  try {
    return join(homedir(), '.kube');
  } catch {
    // HOME is not set, and the user is not in /etc/passwd.
    return undefined;
  }
}

function checkCluster(config: KubeConfig) {
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    throw new Error(
      `kubeconfig context ${JSON.stringify(config.getCurrentContext() ?? '')} names no known cluster: ` +
        'set current-context, or choose another context',
    );
  }
  const { server, proxyUrl } = cluster;
  if (!URL.canParse(server) || !/^https?:/.test(server)) {
    throw new Error(`kubeconfig server ${JSON.stringify(server)} is not an address: use https://HOST:PORT`);
  }
  // client-node would also report this, but only at the first request.
  if (server.startsWith('http:') && !cluster.skipTLSVerify) {
    throw new Error(
      `kubeconfig server ${server} would get credentials in the clear: use https, or set insecure-skip-tls-verify`,
    );
  }
  if (proxyUrl?.startsWith('socks')) {
    throw new Error('kubeconfig proxy-url is a SOCKS proxy, which is not supported: use an http proxy');
  }
}

function loadFile(config: KubeConfig, path: string) {
  try {
    readFileSync(path);
  } catch (error) {
    throw new Error(`kubeconfig ${path} cannot be read: give the path of a readable file`, { cause: error });
  }
  try {
    config.loadFromFile(path);
  } catch {
    // The parser's own message quotes the line, which may hold a token.
    throw new Error(`kubeconfig ${path} is not valid: create it again with the tool that made it`);
  }
}

function loadDefault(config: KubeConfig) {
  const named = process.env['KUBECONFIG'];
  if (named && !named.includes(delimiter)) return loadFile(config, named);
  try {
    config.loadFromDefault();
  } catch {
    // As above: the message may quote a token.
    const where = named ? `of KUBECONFIG=${named}` : 'in ~/.kube/config';
    throw new Error(`the kubeconfig ${where} cannot be read or is not valid: correct it, or set KUBECONFIG`);
  }
}

function selectContext(config: KubeConfig, context: string) {
  const names = config.getContexts().map((known) => known.name);
  if (!names.includes(context)) {
    throw new Error(
      `kubeconfig has no context ${JSON.stringify(context)}: it has ${names.join(', ') || 'none'}`,
    );
  }
  config.setCurrentContext(context);
}

/** Does for credential plugins what kubectl does and client-node does not: passes the cluster's description, resolves relative commands. */
function prepareExecPlugin(config: KubeConfig, folder: string | undefined) {
  const exec: unknown = config.getCurrentUser()?.exec;
  if (typeof exec !== 'object' || exec === null) return;
  const plugin: { apiVersion?: string; command?: string; env?: unknown; provideClusterInfo?: boolean } = exec;
  const { command } = plugin;
  if (command?.includes('/') && !isAbsolute(command) && folder !== undefined)
    plugin.command = join(folder, command);
  const cluster = config.getCurrentCluster();
  const info = {
    apiVersion: plugin.apiVersion ?? 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      ...(plugin.provideClusterInfo === true && cluster !== null
        ? {
            cluster: {
              server: cluster.server,
              'certificate-authority-data': cluster.caData,
              'tls-server-name': cluster.tlsServerName,
              'insecure-skip-tls-verify': cluster.skipTLSVerify,
            },
          }
        : {}),
    },
  };
  const env = Array.isArray(plugin.env) ? plugin.env : [];
  plugin.env = [...env, { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }];
}
