import { resolve } from 'node:path';
import { CommanderError, type Command as Parser } from 'commander';
import { inheritSettings, newProgram } from './cli/new-program.ts';
import { usageMessage } from './cli/usage-message.ts';
import type { AccessLogChoice } from './observe/access-log.ts';
import type { LogFormat, LogLevel } from './observe/log.ts';
import { readOtlpSettings } from './observe/otlp-settings.ts';
import { type Command, type Flag, type FlagName, type FlagValues, flags } from './roles/flags.ts';
import { addRole } from './roles/role-flags.ts';
import { roleSummaries } from './roles/role-summaries.ts';
import type { Balance } from './routing/route.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The settings of every role that runs until a signal. */
export interface ServingConfig {
  readonly adminListen: Address;
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  /** Flags that were given more than once, although only their last value counts. */
  readonly repeated: readonly string[];
  /** From the OTEL_* variables. */
  readonly otlp: ReturnType<typeof readOtlpSettings>;
}

/** The settings of the traffic side, in bytes and whole seconds. */
export interface TrafficConfig {
  readonly listen: Address;
  /** Certificate and key for HTTPS; undefined for plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly drainSeconds: number;
  /** How long it takes new requests after SIGTERM, because endpoints lag behind. */
  readonly endpointLagSeconds: number;
  readonly accessLog: AccessLogChoice;
  /** How requests without a session are spread within one priority. */
  readonly balance: Balance;
  readonly limits: {
    readonly maxBodyBytes: number;
    readonly maxBufferedBytes: number;
    readonly maxAttempts: number;
  };
}

export interface ClusterConfig extends ServingConfig {
  /** Namespaces to serve; `all` for every one; undefined for the one it runs in. */
  readonly namespaces: readonly string[] | 'all' | undefined;
  /** Serves the namespaces with these labels, too. */
  readonly namespaceSelector: string | undefined;
  /** Namespaces whose Secrets it may read, besides the sealing Secret; undefined for all that it serves. */
  readonly secretNamespaces: readonly string[] | undefined;
  /** Only objects of this class are served; undefined for those without a class. */
  readonly className: string | undefined;
  /** Undefined for the namespace it runs in: the pod's, or the kubeconfig context's. */
  readonly homeNamespace: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly allowLoopbackUpstreams: boolean;
  /** Calls to the API server at one time; undefined for the client's default. */
  readonly apiConcurrency: number | undefined;
  /** Whether the admin port serves a profile and the log level to loopback. */
  readonly adminDebug: boolean;
  /** Unique among the replicas: the pod's name. */
  readonly instance: string;
  /** The namespace and uid of the pod; undefined outside of one. */
  readonly pod: { readonly namespace: string; readonly uid: string } | undefined;
}

export interface ControllerConfig extends ClusterConfig {
  readonly command: 'controller';
  /** If one of these is undefined, the controller's default applies. */
  readonly workers: number | undefined;
  readonly contacts: number | undefined;
  readonly leaseSeconds: number | undefined;
  readonly claimSeconds: number | undefined;
  /** If undefined, it is made from the home namespace. */
  readonly gatewayURL: string | undefined;
}

export interface GatewayConfig extends ClusterConfig {
  readonly command: 'gateway';
  readonly traffic: TrafficConfig;
}

export interface StandaloneConfig extends ServingConfig {
  readonly command: 'standalone';
  readonly homeNamespace: string;
  readonly manifests: string;
  readonly data: string;
  readonly traffic: TrafficConfig;
  /** If undefined, it is made from the address of the traffic port. */
  readonly gatewayURL: string | undefined;
  readonly console: boolean;
}

export interface StartConfig extends Omit<StandaloneConfig, 'command'> {
  readonly command: 'start';
  /** A server to declare instead of the demo. */
  readonly upstream: string | undefined;
  /** Whether the traffic address was given; if not, another port is used if the default one is taken. */
  readonly listenGiven: boolean;
  readonly adminListenGiven: boolean;
}

export interface SealConfig {
  readonly command: 'seal';
  readonly flags: FlagValues;
}

export type Config = ControllerConfig | GatewayConfig | StandaloneConfig | StartConfig | SealConfig;

/** A flag or variable that cannot be used; the message names it, the value, the reason and the remedy. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Turns arguments and environment into a validated Config, or into the text of `--help` if that was asked for. Without a
 * command it is the quick start. Other commands are not read here: `main.ts` gives them to the program for people.
 * Flags win over `MODEL_GATEWAY_…` variables. Throws ConfigError, which names the program as it was called.
 */
export function readConfig(
  args: readonly string[],
  env: Env,
  calledAs = 'model-gateway',
): Config | { readonly command: 'help'; readonly text: string } {
  const [first, ...rest] = args;
  const named = isCommand(first) ? first : undefined;
  const command = named ?? 'start';
  const program = newProgram(calledAs).configureOutput({ writeOut: () => {} });
  const repeated = new Set<string>();
  addRole(command, (flag) => repeated.add(flag))(program);
  inheritSettings(program);
  const [parser = program] = program.commands;
  try {
    parser.parse(named === undefined ? args : rest, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { command: 'help', text: parser.helpInformation() };
    throw new ConfigError(usageMessage(error, `${calledAs} ${command}`));
  }
  return Object.freeze(configOf(command, readValues(command, givenTo(parser), env), env, [...repeated]));
}

function isCommand(text: string | undefined): text is Command {
  return text !== undefined && Object.hasOwn(roleSummaries, text);
}

/** What was typed for each flag, by its name; `true` for a switch. */
function givenTo(parser: Parser): ReadonlyMap<string, unknown> {
  const given = parser.options.filter(
    (option) => parser.getOptionValueSource(option.attributeName()) === 'cli',
  );
  return new Map(
    given.map((option) => [
      option.long?.slice(2) ?? '',
      // `--no-console` is a switch too, although commander reads it as the value false of `console`.
      option.isBoolean() || option.negate ? true : parser.getOptionValue(option.attributeName()),
    ]),
  );
}

function readValues(command: Command, given: ReadonlyMap<string, unknown>, env: Env): FlagValues {
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries<Flag>(flags)) {
    if (!flag.commands.includes(command)) continue;
    const variable = `MODEL_GATEWAY_${name.toUpperCase().replaceAll('-', '_')}`;
    const source = given.has(name) ? `--${name}` : variable;
    const raw = given.get(name) ?? fromVariable(flag, variable, env);
    if (raw === undefined) continue;
    const parsed = flag.schema.safeParse(raw);
    if (!parsed.success) {
      const reason = parsed.error.issues.map((issue) => issue.message).join('; ');
      throw new ConfigError(`${source}: ${withoutPassword(JSON.stringify(raw))} ${reason}.`);
    }
    values[name] = parsed.data;
  }
  return values as FlagValues;
}

/** A URL may be refused because of the password in it, which the message must not repeat: it may be logged. */
function withoutPassword(text: string): string {
  return text.replaceAll(/:\/\/[^/"\s]{0,1024}@/g, '://…@');
}

/** Undefined for a variable that is empty, as for one that does not exist. */
function fromVariable(flag: Flag, variable: string, env: Env): unknown {
  const text = Object.hasOwn(env, variable) ? env[variable] : undefined;
  if (text === undefined || text === '') return undefined;
  if (flag.repeatable === true) return text.split(',').map((part) => part.trim());
  if (flag.value !== undefined) return text;
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return undefined;
  throw new ConfigError(`${variable}: ${JSON.stringify(text)} must be true or false.`);
}

function configOf(command: Command, values: FlagValues, env: Env, repeated: readonly string[]): Config {
  if (command === 'seal') return { command, flags: values };
  const inCluster = command === 'controller' || command === 'gateway';
  const serving: ServingConfig = {
    adminListen: values['admin-listen'] ?? { host: inCluster ? '::' : '127.0.0.1', port: 9090 },
    log: {
      level: values['log-level'] ?? 'info',
      format: values['log-format'] ?? (command === 'start' ? 'text' : 'json'),
    },
    repeated,
    otlp: readOtlpSettings(env),
  };
  const traffic: TrafficConfig = {
    listen: values.listen ?? { host: inCluster ? '::' : '127.0.0.1', port: 8080 },
    tls: tlsOf(values['tls-cert'], values['tls-key']),
    drainSeconds: values['drain-seconds'] ?? (inCluster ? 240 : 30),
    endpointLagSeconds: values['endpoint-lag-seconds'] ?? (inCluster ? 5 : 0),
    accessLog: values['access-log'] ?? (inCluster ? 'all' : 'failed'),
    balance: values.balance ?? 'Weighted',
    limits: {
      maxBodyBytes: values['max-body-bytes'] ?? 32 * 1024 * 1024,
      maxBufferedBytes: values['max-buffered-bytes'] ?? 256 * 1024 * 1024,
      maxAttempts: values['max-attempts'] ?? 3,
    },
  };
  // One key may use three quarters of it, so that other keys always get a part.
  if (traffic.limits.maxBufferedBytes * 3 < traffic.limits.maxBodyBytes * 4) {
    throw new ConfigError(
      '--max-buffered-bytes must be at least four thirds of --max-body-bytes, or the largest body could never be read.',
    );
  }
  if (command === 'controller' || command === 'gateway') {
    if (values['all-namespaces'] === true && values.namespace !== undefined) {
      throw new ConfigError('--namespace and --all-namespaces exclude each other; leave one of them out.');
    }
    if (values['all-namespaces'] === true && values['namespace-selector'] !== undefined) {
      throw new ConfigError(
        '--namespace-selector and --all-namespaces exclude each other; leave one of them out.',
      );
    }
    const shared: ClusterConfig = {
      ...serving,
      namespaces: values['all-namespaces'] === true ? 'all' : values.namespace,
      namespaceSelector: values['namespace-selector'],
      className: values.class,
      secretNamespaces: values['secret-namespace']?.filter((name) => name !== '-'),
      homeNamespace: values['home-namespace'] ?? env['POD_NAMESPACE'],
      kubeconfig: values.kubeconfig,
      context: values.context,
      allowLoopbackUpstreams: values['allow-loopback-upstreams'] ?? false,
      apiConcurrency: values['api-concurrency'],
      adminDebug: values['admin-debug'] ?? false,
      instance: env['POD_NAME'] ?? env['HOSTNAME'] ?? 'model-gateway',
      pod: podOf(env),
    };
    if (command === 'gateway') return { command, ...shared, traffic };
    const { workers, contacts, 'lease-seconds': leaseSeconds, 'claim-seconds': claimSeconds } = values;
    const gatewayURL = values['gateway-url'];
    return { command, ...shared, workers, contacts, leaseSeconds, claimSeconds, gatewayURL };
  }
  const folders =
    command === 'start'
      ? {
          manifests: values.manifests ?? 'model-gateway/manifests',
          data: values.data ?? 'model-gateway/data',
        }
      : {
          manifests: needed(values.manifests, 'manifests', 'the folder that holds the manifests'),
          data: needed(values.data, 'data', 'a folder that the gateway may write to'),
        };
  const standalone = {
    ...serving,
    homeNamespace: values['home-namespace'] ?? 'default',
    traffic,
    manifests: resolve(folders.manifests),
    data: resolve(folders.data),
    gatewayURL: values['gateway-url'],
    console: values['no-console'] !== true,
  };
  if (command === 'standalone') return { command, ...standalone };
  return {
    command,
    ...standalone,
    upstream: values.upstream,
    listenGiven: values.listen !== undefined,
    adminListenGiven: values['admin-listen'] !== undefined,
  };
}

function tlsOf(cert: string | undefined, key: string | undefined): TrafficConfig['tls'] {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    const [given, missing] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    throw new ConfigError(
      `--tls-${missing} is missing; HTTPS needs it beside --tls-${given}: give both, or none.`,
    );
  }
  return { cert: resolve(cert), key: resolve(key) };
}

function needed(value: string | undefined, flag: FlagName, what: string): string {
  if (value !== undefined) return value;
  throw new ConfigError(`--${flag} is missing; give it ${what}.`);
}

function podOf({ POD_NAME: name, POD_NAMESPACE: namespace, POD_UID: uid }: Env): ClusterConfig['pod'] {
  return name && namespace && uid ? { namespace, uid } : undefined;
}
