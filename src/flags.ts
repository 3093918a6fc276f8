import { z } from 'zod';
import type { AccessLogChoice } from './observe/access-log.ts';
import { logFormats, logLevels } from './observe/log.ts';

/** Every command that `model-gateway` knows, with what `--help` says of it. */
export const commands = {
  start: 'the quick start: standalone mode on ./model-gateway, made on the first run',
  standalone: 'controller and gateway in one process on a directory of manifests',
  controller: 'the controller, in a cluster',
  gateway: 'the gateway, in a cluster',
  seal: "encrypt a node's credential for a manifest; the key comes from stdin or a prompt",
} as const;
export type Command = keyof typeof commands;

const cluster = ['controller', 'gateway'] as const;
const serving = ['controller', 'gateway', 'standalone', 'start'] as const;

/** A TCP address as flags take it: `HOST:PORT`, `:PORT` for every interface, `[::1]:PORT` for IPv6. */
const hostPort = z
  .string()
  .regex(/^(\[[0-9a-fA-F:.]+\]|[^:\s]*):\d{1,5}$/, 'must be HOST:PORT, such as 127.0.0.1:8080 or :8080')
  .transform((text) => {
    const colon = text.lastIndexOf(':');
    return {
      host: text.slice(0, colon).replace(/^\[|\]$/g, '') || '::',
      port: Number(text.slice(colon + 1)),
    };
  })
  .refine(({ port }) => port <= 65_535, 'must have a port from 0 to 65535');

const namespaceName = z
  .string()
  .regex(
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
    'must be a namespace name: lower-case letters, digits and dashes, at most 63',
  );

const wholeNumber = (least: number, most: number): z.ZodType<number> =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${least} to ${most}`)
    .transform(Number)
    .refine((n) => n >= least && n <= most, `must be from ${least} to ${most}`);

const httpURL = (what: string): z.ZodType<string> =>
  z.string().refine((text) => {
    const url = URL.parse(text);
    return (
      url !== null &&
      /^https?:$/.test(url.protocol) &&
      url.username === '' &&
      url.search === '' &&
      url.hash === ''
    );
  }, `must be ${what}: http:// or https://, without user, query or fragment`);

/** What callers use as base URL; `/v1` is added where the path is empty. */
const gatewayURL = httpURL('the base URL that callers use').transform((text) => {
  const url = new URL(text);
  return url.pathname === '/' ? `${url.origin}/v1` : text.replace(/\/+$/, '');
});

const accessLogChoice = z
  .string()
  .regex(/^(?:all|failed|off|0?\.\d{1,9}|0|1|1\.0)$/, 'must be all, failed, off, or a share from 0 to 1')
  .transform(
    (text): AccessLogChoice => (/^[afo]/.test(text) ? (text as 'all' | 'failed' | 'off') : Number(text)),
  );

interface Flag {
  readonly commands: readonly Command[];
  /** What stands for the value in `--help`; absent for a switch. */
  readonly value?: string;
  readonly repeatable?: true;
  readonly schema: z.ZodType;
  readonly help: string;
}

/** Every flag. The environment variable of `--some-flag` is `MODEL_GATEWAY_SOME_FLAG`; lists are separated by commas. */
export const flags = {
  manifests: {
    commands: ['standalone', 'start'],
    value: 'DIR',
    schema: z.string().min(1),
    help: 'folder of manifests (start: ./model-gateway/manifests)',
  },
  data: {
    commands: ['standalone', 'start', 'seal'],
    value: 'DIR',
    schema: z.string().min(1),
    help: 'folder for status, generated keys and keys made through /v1/keys (start: ./model-gateway/data)',
  },
  upstream: {
    commands: ['start'],
    value: 'URL',
    schema: httpURL('the base URL of an OpenAI-compatible server'),
    help: 'declare this OpenAI-compatible server instead of the demo, such as http://127.0.0.1:11434/v1',
  },
  listen: {
    commands: ['gateway', 'standalone', 'start'],
    value: 'HOST:PORT',
    schema: hostPort,
    help: 'address for traffic (standalone: 127.0.0.1:8080; in a cluster: :8080)',
  },
  'tls-cert': {
    commands: ['gateway', 'standalone', 'start'],
    value: 'FILE',
    schema: z.string().min(1),
    help: 'PEM certificate for HTTPS on the traffic port, then its intermediates; re-read when it changes',
  },
  'tls-key': {
    commands: ['gateway', 'standalone', 'start'],
    value: 'FILE',
    schema: z.string().min(1),
    help: 'PEM private key of --tls-cert',
  },
  'admin-listen': {
    commands: serving,
    value: 'HOST:PORT',
    schema: hostPort,
    help: 'address of /livez, /readyz and /metrics (standalone: 127.0.0.1:9090; in a cluster: :9090)',
  },
  'gateway-url': {
    commands: ['controller', 'standalone', 'start'],
    value: 'URL',
    schema: gatewayURL,
    help: 'base URL that callers use, written into key Secrets',
  },
  namespace: {
    commands: [...cluster, 'seal'],
    value: 'NAME',
    repeatable: true,
    schema: z.array(namespaceName).min(1).max(100),
    help: 'namespace to serve, repeatable (default: the one it runs in)',
  },
  'all-namespaces': { commands: cluster, schema: z.boolean(), help: 'serve every namespace' },
  'home-namespace': {
    commands: [...serving, 'seal'],
    value: 'NAME',
    schema: namespaceName,
    help: "the platform team's namespace (default: the pod's own; standalone: default)",
  },
  kubeconfig: {
    commands: [...cluster, 'seal'],
    value: 'FILE',
    schema: z.string().min(1),
    help: 'kubeconfig to use (default: as kubectl; in a pod its service account)',
  },
  context: {
    commands: [...cluster, 'seal'],
    value: 'NAME',
    schema: z.string().min(1),
    help: 'context of the kubeconfig',
  },
  'allow-loopback-upstreams': {
    commands: cluster,
    schema: z.boolean(),
    help: 'let nodes point at loopback addresses (always allowed standalone)',
  },
  'drain-seconds': {
    commands: ['gateway', 'standalone', 'start'],
    value: 'N',
    schema: wholeNumber(0, 3600),
    help: 'how long requests in flight may take to finish at SIGTERM (240; standalone: 30)',
  },
  'max-body-bytes': {
    commands: ['gateway', 'standalone', 'start'],
    value: 'N',
    schema: wholeNumber(1024, 1_073_741_824),
    help: 'largest request body, decoded (33554432)',
  },
  'max-buffered-bytes': {
    commands: ['gateway', 'standalone', 'start'],
    value: 'N',
    schema: wholeNumber(1024, 17_179_869_184),
    help: 'largest sum of all request bodies held at once (268435456)',
  },
  'max-attempts': {
    commands: ['gateway', 'standalone', 'start'],
    value: 'N',
    schema: wholeNumber(1, 10),
    help: 'nodes to try for one request (3)',
  },
  'no-console': {
    commands: ['standalone', 'start'],
    schema: z.boolean(),
    help: 'do not serve the administration interface beside the admin address',
  },
  recipient: {
    commands: ['seal'],
    value: 'AGE1…',
    schema: z.string().regex(/^age1[a-z0-9]{20,4000}$/, 'must be an age recipient, which starts with age1'),
    help: 'seal offline to this recipient',
  },
  'base-url': {
    commands: ['seal'],
    value: 'URL',
    schema: httpURL("the node's baseURL"),
    help: "the node's spec.baseURL; the sealed key opens for this origin alone",
  },
  name: {
    commands: ['seal'],
    value: 'NAME',
    schema: z.string().min(1).max(253),
    help: "the node's metadata.name",
  },
  'log-level': {
    commands: serving,
    value: 'LEVEL',
    schema: z.enum(logLevels),
    help: `${logLevels.join(', ')} (info)`,
  },
  'log-format': {
    commands: serving,
    value: 'FORMAT',
    schema: z.enum(logFormats),
    help: `${logFormats.join(', ')} (json; text for start)`,
  },
  'access-log': {
    commands: ['gateway', 'standalone', 'start'],
    value: 'WHICH',
    schema: accessLogChoice,
    help: 'requests to log: all, failed, off, or a share of the good ones such as 0.1 (failed; in a cluster: all)',
  },
} as const satisfies Record<string, Flag>;
export type FlagName = keyof typeof flags;

/** The value type of each flag after parsing. */
export type FlagValues = { readonly [K in FlagName]?: z.output<(typeof flags)[K]['schema']> };

/** The `--help` text of the program, or of one command. */
export function helpText(command?: Command): string {
  if (command === undefined) {
    const list = Object.entries(commands).map(([name, what]) => `  ${name.padEnd(11)} ${what}`);
    return [
      'Usage: model-gateway [COMMAND] [FLAGS]',
      '',
      'Commands (without one: start):',
      ...list,
      '',
      'Flags of a command: model-gateway COMMAND --help',
      '',
    ].join('\n');
  }
  const rows = Object.entries<Flag>(flags)
    .filter(([, flag]) => flag.commands.includes(command))
    .map(
      ([name, flag]) => [`--${name}${flag.value === undefined ? '' : ` ${flag.value}`}`, flag.help] as const,
    );
  const width = Math.max(...rows.map(([left]) => left.length));
  return [
    `Usage: model-gateway ${command} [FLAGS]`,
    '',
    `${commands[command][0]?.toUpperCase()}${commands[command].slice(1)}.`,
    '',
    ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`),
    '',
    'Every flag is also an environment variable: --log-level is MODEL_GATEWAY_LOG_LEVEL.',
    '',
  ].join('\n');
}
