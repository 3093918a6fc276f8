import { z } from 'zod';
import { gatewayURL } from '../cli/gateway-url.ts';
import { listenAddress } from '../cli/listen-address.ts';
import { labelSelector } from '../cli/selector.ts';
import type { AccessLogChoice } from '../observe/access-log.ts';
import { logFormats, logLevels } from '../observe/log.ts';
import type { roleSummaries } from './role-summaries.ts';

export type Command = keyof typeof roleSummaries;

/** The examples in the `--help` of each role, as they are typed after the program's name. */
export const roleExamples: Readonly<Record<Command, readonly [string, ...string[]]>> = {
  start: ['start', 'start --upstream http://127.0.0.1:11434/v1'],
  standalone: [
    'standalone --manifests manifests --data data',
    'standalone --manifests manifests --data data --listen :8080',
  ],
  controller: [
    'controller --gateway-url https://models.example.com/v1',
    'controller --namespace platform --namespace team-a',
  ],
  gateway: ['gateway --all-namespaces --tls-cert tls.crt --tls-key tls.key'],
  seal: [
    'seal --name a --base-url https://a.example/v1 < key',
    'seal --data data --name a --base-url http://a/v1 < key',
  ],
};

const cluster = ['controller', 'gateway'] as const;
const serving = ['controller', 'gateway', 'standalone', 'start'] as const;

const hostPort = z.string().transform((text, { issues }) => {
  const address = listenAddress(text);
  if (address !== undefined) return address;
  const message = 'must be HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:8080 or :8080';
  issues.push({ code: 'custom', message, input: text });
  return z.NEVER;
});

const dnsLabel = (what: string): z.ZodType<string> =>
  z
    .string()
    .regex(
      /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
      `must be a ${what}: lower-case letters, digits and dashes, at most 63`,
    );
const namespaceName = dnsLabel('namespace name');

function isLabelSelector(text: string): boolean {
  try {
    labelSelector(text);
    return true;
  } catch {
    return false;
  }
}

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

const given = (what: string): z.ZodString => z.string().min(1, `must not be empty; give ${what}`);

const callersURL = httpURL('the base URL that callers use').transform(gatewayURL);

const accessLogChoice = z
  .string()
  .regex(/^(?:all|failed|off|0?\.\d{1,9}|0|1|1\.0)$/, 'must be all, failed, off, or a share from 0 to 1')
  .transform(
    (text): AccessLogChoice => (/^[afo]/.test(text) ? (text as 'all' | 'failed' | 'off') : Number(text)),
  );

export interface Flag {
  readonly commands: readonly Command[];
  /** The placeholder of the value in `--help`; absent for a switch. */
  readonly value?: string;
  readonly repeatable?: true;
  readonly schema: z.ZodType;
  readonly help: string;
  /** The default, as `--help` shows it. `start` uses `local` if it has none of its own. */
  readonly preset?: Partial<Record<'cluster' | 'local' | 'start', string>>;
  /** The help of another flag names it, or docs/operations.md does, so that `--help` fits a screen. */
  readonly hidden?: true;
}

/** Every flag. The environment variable of `--some-flag` is `MODEL_GATEWAY_SOME_FLAG`; the values of a list are separated by commas. */
export const flags = {
  manifests: {
    commands: ['standalone', 'start'],
    value: 'DIR',
    schema: given('the path of a folder'),
    help: 'folder of manifests',
    preset: { start: 'model-gateway/manifests' },
  },
  data: {
    commands: ['standalone', 'start', 'seal'],
    value: 'DIR',
    schema: given('the path of a folder'),
    help: 'status and generated keys',
    preset: { start: 'model-gateway/data' },
  },
  upstream: {
    commands: ['start'],
    value: 'URL',
    schema: httpURL('the base URL of an OpenAI-compatible server'),
    help: 'a server to declare instead of the demo',
  },
  listen: {
    commands: ['gateway', 'standalone', 'start'],
    value: 'HOST:PORT',
    schema: hostPort,
    help: 'address for traffic',
    preset: { cluster: ':8080', local: '127.0.0.1:8080' },
  },
  'tls-cert': {
    commands: ['gateway', 'standalone', 'start'],
    value: 'FILE',
    schema: given('the path of a file'),
    help: 'HTTPS, with --tls-key FILE; read again on change',
  },
  'tls-key': {
    commands: ['gateway', 'standalone', 'start'],
    value: 'FILE',
    schema: given('the path of a file'),
    help: 'private key of --tls-cert',
    hidden: true,
  },
  'admin-listen': {
    commands: serving,
    value: 'HOST:PORT',
    schema: hostPort,
    help: 'probes and metrics',
    preset: { cluster: ':9090', local: '127.0.0.1:9090' },
  },
  'gateway-url': {
    commands: ['controller', 'standalone', 'start'],
    value: 'URL',
    schema: callersURL,
    help: 'base URL of callers, for the Secrets of keys',
  },
  namespace: {
    commands: [...cluster, 'seal'],
    value: 'NAME',
    repeatable: true,
    schema: z.array(namespaceName).min(1).max(100),
    help: 'namespace; repeat it to serve more',
    preset: { cluster: 'its own' },
  },
  'all-namespaces': {
    commands: cluster,
    schema: z.boolean(),
    help: 'serve every one; or --namespace-selector LABELS',
  },
  'namespace-selector': {
    commands: cluster,
    value: 'LABELS',
    schema: z.string().refine(isLabelSelector, 'must be labels as kubectl takes them: team=a,!old'),
    help: 'serve those with these labels, too',
    hidden: true,
  },
  'secret-namespace': {
    commands: cluster,
    value: 'NAME',
    repeatable: true,
    schema: z.array(z.literal('-').or(namespaceName)).min(1).max(100),
    help: 'where it may read Secrets; -: none',
    preset: { cluster: 'all served' },
  },
  class: {
    commands: cluster,
    value: 'NAME',
    schema: dnsLabel('class'),
    help: 'serve the objects of this class',
    preset: { cluster: 'those without' },
  },
  'home-namespace': {
    commands: [...serving, 'seal'],
    value: 'NAME',
    schema: namespaceName,
    help: "the platform team's namespace",
    preset: { cluster: "the pod's own", local: 'default' },
  },
  kubeconfig: {
    commands: [...cluster, 'seal'],
    value: 'FILE',
    schema: given('the path of a kubeconfig'),
    help: 'with --context NAME',
    preset: { cluster: "kubectl's, or the pod's" },
  },
  context: {
    commands: [...cluster, 'seal'],
    value: 'NAME',
    schema: given('the name of a context'),
    help: 'context of the kubeconfig',
    hidden: true,
  },
  'allow-loopback-upstreams': {
    commands: cluster,
    schema: z.boolean(),
    help: 'let nodes point at loopback addresses',
  },
  'drain-seconds': {
    commands: ['gateway', 'standalone', 'start'],
    value: 'N',
    schema: wholeNumber(0, 3600),
    help: 'time to finish requests at SIGTERM',
    preset: { cluster: '240', local: '30' },
  },
  'endpoint-lag-seconds': {
    commands: ['gateway'],
    hidden: true,
    value: 'N',
    schema: wholeNumber(0, 600),
    help: 'time to take new requests after SIGTERM (5)',
  },
  workers: {
    commands: ['controller'],
    hidden: true,
    value: 'N',
    schema: wholeNumber(1, 64),
    help: 'resources of one kind reconciled at once (4)',
  },
  contacts: {
    commands: ['controller'],
    hidden: true,
    value: 'N',
    schema: wholeNumber(1, 1_000),
    help: 'syncs and health checks at once (32)',
  },
  'lease-seconds': {
    commands: ['controller'],
    hidden: true,
    value: 'N',
    schema: wholeNumber(6, 120),
    help: 'time until another replica takes over (15)',
  },
  'claim-seconds': {
    commands: ['controller'],
    hidden: true,
    value: 'N',
    schema: wholeNumber(15, 86_400),
    help: 'time until another installation takes over (900)',
  },
  'api-concurrency': {
    commands: cluster,
    hidden: true,
    value: 'N',
    schema: wholeNumber(1, 200),
    help: 'calls to the API server at once (10)',
  },
  'admin-debug': {
    commands: cluster,
    hidden: true,
    schema: z.boolean(),
    help: 'profile and log level on the admin port',
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
    help: 'all bodies at once; one key: 3/4 of it (268435456)',
  },
  'max-attempts': {
    commands: ['gateway', 'standalone', 'start'],
    value: 'N',
    schema: wholeNumber(1, 10),
    help: 'nodes to try for one request (3)',
  },
  balance: {
    commands: ['gateway', 'standalone', 'start'],
    hidden: true,
    value: 'HOW',
    schema: z.enum(['Weighted', 'LeastLoaded']),
    help: 'Weighted or LeastLoaded: requests without a session (Weighted)',
  },
  'no-console': {
    commands: ['standalone', 'start'],
    schema: z.boolean(),
    help: 'no administration interface beside the probes',
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
    help: "the node's baseURL: it opens for this origin alone",
  },
  name: {
    commands: ['seal'],
    value: 'NAME',
    schema: given('a name').max(253, 'must have at most 253 characters'),
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
    help: logFormats.join(', '),
    preset: { cluster: 'json', local: 'json', start: 'text' },
  },
  'access-log': {
    commands: ['gateway', 'standalone', 'start'],
    value: 'WHICH',
    schema: accessLogChoice,
    help: 'all, failed, off, or a share such as 0.1',
    preset: { cluster: 'all', local: 'failed' },
  },
} as const satisfies Record<string, Flag>;
export type FlagName = keyof typeof flags;

/** The value type of each flag after parsing. */
export type FlagValues = { readonly [K in FlagName]?: z.output<(typeof flags)[K]['schema']> };

/** What a role uses without the flag, as `--help` says it. */
export function presetOf({ preset = {} }: Flag, command: Command): string | undefined {
  if (command === 'start') return preset.start ?? preset.local;
  return command === 'standalone' ? preset.local : preset.cluster;
}
