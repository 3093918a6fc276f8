import type { KubeClient } from '../kube/client.ts';
import { resourcePath } from '../kube/paths.ts';
import { getObject } from '../kube/verbs.ts';
import { errorText } from '../observe/error-text.ts';
import { productVersion } from '../observe/version.ts';
import type { AddCommand } from './add-command.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext } from './context.ts';
import { exitCodes } from './exit-codes.ts';
import { explained } from './help.ts';
import { type OutputFlags, printData, withOutput } from './output.ts';
import { connectCluster, isFolder, type PlaceFlags, withPlace } from './place.ts';
import { plainCells, table } from './table.ts';

interface Flags extends PlaceFlags, OutputFlags {
  readonly client?: boolean;
}

interface Part {
  readonly name: string;
  readonly version: string;
  readonly where: string;
}

const partOf = 'app.kubernetes.io/part-of=model-gateway';

/** `version` */
export const addVersion: AddCommand = (program, context) => {
  const command = program
    .command('version')
    .description('Prints the version of this program, of the API server and of what runs there.')
    .option('--client', 'this program alone; asks no cluster')
    .action((flags: Flags) => showVersions(context, flags));
  withPlace(withOutput(command, ['table', 'json', 'yaml']));
  explained(command, { examples: ['version', 'version --client -o json'] });
};

async function showVersions(context: CommandContext, flags: Flags): Promise<void> {
  const parts: Part[] = [{ name: 'client', version: productVersion(), where: '' }];
  let failure: CommandError | undefined;
  if (flags.client !== true && !isFolder(flags, context.env)) {
    try {
      parts.push(...(await clusterParts(flags, context.signal)));
    } catch (error) {
      context.signal.throwIfAborted();
      failure = new CommandError(exitCodes.unavailable, errorText(error));
    }
  }
  if (flags.output === 'json' || flags.output === 'yaml')
    await printData(context, flags.output, { versions: parts });
  else {
    const rows = parts.map(({ name, version, where }) => plainCells(`${name}:`, version, where));
    context.out.write(table(rows, false));
  }
  if (failure !== undefined) throw failure;
}

/** The API server, and the Deployments of this product as far as this user may see them. */
async function clusterParts(flags: PlaceFlags, signal: AbortSignal): Promise<Part[]> {
  const client = await connectCluster(flags);
  const { gitVersion } = (await getObject(client, '/version', { signal })) as { gitVersion?: unknown };
  const { server, context } = client.place();
  const where = context === '' ? server : `${server} (context ${context})`;
  return [
    { name: 'API server', version: textOf(gitVersion), where },
    ...(await deployments(client, flags.namespace ?? client.namespace(), signal)),
  ];
}

async function deployments(client: KubeClient, namespace: string, signal: AbortSignal): Promise<Part[]> {
  const list = (of: string | undefined): Promise<unknown> =>
    client.request({
      method: 'GET',
      path: resourcePath({ group: 'apps', version: 'v1', plural: 'deployments', namespace: of }),
      query: { labelSelector: partOf, limit: 100 },
      signal,
    });
  // Most people may read only their own namespace, and some not even that: then nothing is printed.
  const found = await list(undefined)
    .catch(() => list(namespace))
    .catch(() => undefined);
  const { items = [] } = (found ?? {}) as { items?: { metadata?: Record<string, unknown> }[] };
  return items.map(({ metadata = {} }) => {
    const labels = (metadata['labels'] ?? {}) as Record<string, unknown>;
    return {
      name: textOf(labels['app.kubernetes.io/component'] ?? metadata['name']),
      version: textOf(labels['app.kubernetes.io/version']),
      where: `Deployment ${textOf(metadata['namespace'])}/${textOf(metadata['name'])}`,
    };
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : 'unknown';
}
