import { readFile } from 'node:fs/promises';
import { InvalidArgumentError, Option } from 'commander';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { type CallerFormat, endpoints } from '../../routing/caller-format.ts';
import { type Explanation, explainRoute } from '../../routing/explain/explain.ts';
import { servedNames } from '../../store/node-models.ts';
import type { KeyEntry } from '../../store/store.ts';
import type { AddCommand } from '../add-command.ts';
import { CommandError } from '../command-error.ts';
import { completes } from '../completion/completes.ts';
import type { CommandContext } from '../context.ts';
import { DeclarationError, type Declarations } from '../edit/declarations.ts';
import { exitCodes } from '../exit-codes.ts';
import { explained } from '../help.ts';
import { hintedCommands } from '../hinted-commands.ts';
import { apiKeyWords } from '../key/kind.ts';
import { namedRef } from '../named.ts';
import { listText, type OutputFlags, printData, withOutput } from '../output.ts';
import { connectCluster, isFolder, type PlaceFlags, showsStatus, withPlace } from '../place.ts';
import { readAll } from '../read-secret.ts';
import { withNearest } from '../with-nearest.ts';
import { adminCircuits, defaultAdminURL } from './admin-circuits.ts';
import { anyKeyOf, keyEntryOf, refusedKey } from './asking-key.ts';
import { declaredView } from './declared-view.ts';
import { type GatewayReadings, podCircuits } from './pod-circuits.ts';
import { conclusions, explainColumns, refusalText } from './text.ts';

const formats = [
  'chat',
  'completions',
  'responses',
  'messages',
  'embeddings',
  ...endpoints,
] as const satisfies CallerFormat[];

interface Flags extends PlaceFlags, OutputFlags {
  readonly key?: string;
  readonly format: (typeof formats)[number];
  readonly request?: string;
  readonly session?: string;
  readonly homeNamespace?: string;
  readonly adminUrl?: string;
}

/** `route …` */
export const addRoute: AddCommand = (program, context) => {
  const group = program.command('route').description('Explains where requests go.');
  explained(group, { examples: ['route explain gpt-5', 'route explain gpt-5 --key ci --format messages'] });
  const command = group
    .command('explain')
    .summary('why a request for a model would go where')
    .description('Explains where a request goes: each node in order with its share, or why not.')
    .argument('<model>', 'the name that callers send')
    .option('--key <name>', 'the key they send (default: any of the namespace)')
    .addOption(
      new Option('--format <name>', 'such as messages, rerank, audio/speech')
        .choices(formats)
        .default('chat'),
    )
    .option('--request <file>', 'a request as JSON, or - : what a conversion drops')
    .option('--session <name>', "the request's session, with --key: its node")
    .option('--home-namespace <ns>', "the gateway's home namespace (default: found out)")
    .option('--admin-url <url>', 'of a gateway on a folder (http://127.0.0.1:9090)', adminURL)
    .action((model: string, flags: Flags) => explainOne(context, model, flags));
  withPlace(withOutput(command, ['table', 'json', 'yaml']));
  completes(command, 'model');
  explained(command, {
    notes: ['Exit code 3 if no node knows the model, 1 if none takes the request.'],
    examples: ['route explain gpt-5', 'route explain gpt-5 --key ci --format messages'],
  });
};

async function explainOne(context: CommandContext, model: string, flags: Flags): Promise<void> {
  if (flags.session !== undefined && flags.key === undefined) {
    throw new CommandError(
      exitCodes.invalid,
      'The node of a session depends on the key that its requests are sent with: give --key, too.',
    );
  }
  const place = await context.declarations(flags);
  const body = flags.request === undefined ? undefined : await readRequest(context, flags.request);
  const key = await keyOf(context, place, flags);
  const readings = await readingsOf(context, place, flags);
  const inFolder = isFolder(flags, context.env);
  const homeNamespace =
    flags.homeNamespace ?? readings.homeNamespace ?? (inFolder ? 'default' : place.namespace);
  const { nodes, missing } = await readNodes(place, key, homeNamespace, context.signal);
  const hasStatus = showsStatus(flags, context.env);
  const explanation = explainRoute({
    view: declaredView(nodes, hasStatus),
    model,
    key,
    format: flags.format,
    homeNamespace,
    ...(body === undefined ? {} : { body }),
    session: flags.session,
    now: context.clock.wall().getTime(),
    circuits: readings.circuits,
  });
  const unknown = [
    ...missing,
    ...readings.missing,
    ...(hasStatus
      ? []
      : ["Status, discovered models and credentials are unknown: add --data, the gateway's data folder."]),
  ];
  const refused =
    flags.key === undefined || key.resource.kind !== 'APIKey'
      ? undefined
      : refusedKey(key.resource, context.clock.wall());
  const gateways = readings.circuits?.map(({ gateway }) => gateway) ?? [];
  const asked = { key: flags.key, namespace: key.resource.metadata.namespace, homeNamespace };
  await print(context, flags, explanation, { asked, gateways, refused, unknown });
  if (explanation.refusal === 'model_not_found') {
    const names = nodes.flatMap((node) => [...servedNames(node).keys()]);
    const message = `no node takes requests for ${JSON.stringify(model)}`;
    throw new CommandError(exitCodes.notFound, withNearest(message, model, names));
  }
  if (explanation.refusal !== undefined || refused !== undefined)
    throw new CommandError(exitCodes.failed, '');
}

interface Rest {
  readonly asked: {
    readonly key: string | undefined;
    readonly namespace: string;
    readonly homeNamespace: string;
  };
  /** The gateways whose circuits are known. */
  readonly gateways: readonly string[];
  readonly refused: string | undefined;
  readonly unknown: readonly string[];
}

async function print(
  context: CommandContext,
  flags: Flags,
  explanation: Explanation,
  { asked, gateways, refused, unknown }: Rest,
): Promise<void> {
  const format = flags.output;
  if (format === 'json' || format === 'yaml') {
    return printData(context, format, { ...asked, keyRefused: refused, ...explanation, gateways, unknown });
  }
  const { out, err } = context;
  if (explanation.nodes.length > 0) {
    const table = listText(context, 'table', { items: explanation.nodes, columns: explainColumns });
    out.write(hintedCommands(table, flags));
  }
  if (refused !== undefined)
    out.write(`The key ${asked.key} opens nothing: callers get 401, because ${refused}\n`);
  const refusal = refusalText(explanation);
  if (refusal !== undefined) out.write(`${refusal}\n`);
  for (const line of conclusions(explanation)) out.write(`${line}\n`);
  for (const line of unknown) err.write(`${line}\n`);
}

async function keyOf({ signal }: CommandContext, place: Declarations, { key }: Flags): Promise<KeyEntry> {
  if (key === undefined) return anyKeyOf(place.namespace);
  const { resource } = await place.get(namedRef(place, apiKeyWords, key), signal);
  return resource.kind === 'APIKey' ? keyEntryOf(resource) : anyKeyOf(place.namespace);
}

async function readingsOf(
  context: CommandContext,
  place: Declarations,
  flags: Flags,
): Promise<GatewayReadings> {
  const { signal, env } = context;
  if (isFolder(flags, env) || flags.adminUrl !== undefined) {
    const read = await adminCircuits(flags.adminUrl ?? defaultAdminURL, signal);
    return { ...read, homeNamespace: undefined };
  }
  const client = await connectCluster(flags);
  try {
    return await podCircuits(client, flags.homeNamespace ?? place.namespace, signal);
  } finally {
    client.close();
  }
}

/** The nodes of all namespaces, or, without that permission, of the namespaces whose nodes the key may use. */
async function readNodes(
  place: Declarations,
  key: KeyEntry,
  homeNamespace: string,
  signal: AbortSignal,
): Promise<{ nodes: UpstreamNode[]; missing: string[] }> {
  try {
    const all = await place.list('UpstreamNode', undefined, signal);
    return { nodes: all.map(({ resource }) => resource), missing: [] };
  } catch (error) {
    if (!(error instanceof DeclarationError) || error.reason !== 'Forbidden') throw error;
  }
  const { metadata, spec } = key.resource;
  const accepted = 'nodeNamespaces' in spec ? (spec.nodeNamespaces ?? []) : [];
  const namespaces = new Set([metadata.namespace, homeNamespace, ...accepted]);
  const nodes: UpstreamNode[] = [];
  const missing: string[] = [];
  let failure: unknown;
  for (const namespace of namespaces) {
    try {
      const found = await place.list('UpstreamNode', namespace, signal);
      nodes.push(...found.map(({ resource }) => resource));
    } catch (error) {
      if (!(error instanceof DeclarationError) || error.reason !== 'Forbidden') throw error;
      failure = error;
      missing.push(
        `Nodes of namespace ${namespace} are unknown: this user has no permission to list upstreamnodes there.`,
      );
    }
  }
  if (missing.length === namespaces.size) throw failure;
  return { nodes, missing };
}

async function readRequest({ stdin }: CommandContext, file: string): Promise<unknown> {
  const text =
    file === '-'
      ? await readAll(stdin)
      : await readFile(file, 'utf8').catch(() => {
          throw new CommandError(
            exitCodes.unavailable,
            `--request ${file} cannot be read; give a file of JSON, or - for stdin.`,
          );
        });
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may be a private prompt.
    throw new CommandError(
      exitCodes.invalid,
      `--request ${file} holds no JSON; give the body of one request.`,
    );
  }
}

function adminURL(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError('Give an address such as http://127.0.0.1:9090.');
}
