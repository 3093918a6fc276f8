import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { KubeClient } from '../kube/client.ts';
import { errorText } from '../observe/error-text.ts';
import { productVersion } from '../observe/version.ts';
import { CommandError, usageError } from './command-error.ts';
import type { Declarations } from './edit/declarations.ts';
import { exitCodes } from './exit-codes.ts';
import { placeFlags } from './place-flags.ts';

/** The flags that say where a command reads and writes: a cluster, with kubectl's own flags, or a folder of manifests. */
export interface PlaceFlags {
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly as?: string;
  readonly asGroup?: readonly string[];
  /** Milliseconds; absent means 10,000. */
  readonly requestTimeout?: number;
  readonly manifests?: string;
  readonly data?: string;
  /** Where the controller runs and its sealing key is; searched for if absent. */
  readonly homeNamespace?: string;
}

/** Adds `placeFlags` to a command. `--help` of the command leaves them out: `help flags` has them. */
export function withPlace(command: Command, scope: 'one' | 'many' = 'one'): Command {
  for (const [flags, help] of placeFlags) {
    if (flags.startsWith('-A') && scope === 'one') continue;
    // commander reads words in angle brackets as the placeholder of a value.
    const option = new Option(flags.replace(/ ([A-Z]+)$/, ' <$1>'), help).hideHelp();
    if (flags.startsWith('--as-group')) option.argParser(collected);
    if (flags.startsWith('--request-timeout')) option.argParser(duration);
    command.addOption(option);
  }
  return command;
}

/** The namespace to list: undefined for all of them. */
export function listedNamespace(flags: PlaceFlags, place: Declarations): string | undefined {
  return flags.allNamespaces === true ? undefined : place.namespace;
}

/** Whether the flags or variables name a folder of manifests. */
export function isFolder(flags: PlaceFlags, env: Env): boolean {
  return manifestsOf(flags, env) !== undefined;
}

/** Whether the place has the status of resources. For a folder, it is in the data folder. */
export function showsStatus(flags: PlaceFlags, env: Env): boolean {
  const manifests = manifestsOf(flags, env);
  if (manifests === undefined || dataOf(flags, env) !== undefined) return true;
  return existsSync(join(dirname(resolve(manifests)), 'data'));
}

/** Option parser for a repeatable flag. */
export function collected(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Option parser for times as kubectl takes them: `30s`, `1m30s`, `500ms`, `0`, or whole seconds. In milliseconds. */
export function duration(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text) * 1_000;
  const parts = [...text.matchAll(/(\d{1,6})(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw new InvalidArgumentError('Give a time such as 30s, 1m or 0.');
  }
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (units.get(unit ?? '') ?? 0), 0);
}

const units: ReadonlyMap<string, number> = new Map(
  Object.entries<number>({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }),
);

type Env = Readonly<Record<string, string | undefined>>;

const clusterFlags = {
  context: '--context',
  kubeconfig: '--kubeconfig',
  as: '--as',
  asGroup: '--as-group',
} as const satisfies Partial<Record<keyof PlaceFlags, string>>;

/** The first of the given flags that apply only to a cluster. */
function clusterFlag(flags: PlaceFlags): string | undefined {
  const found = Object.entries(clusterFlags).find(([name]) => flags[name as keyof PlaceFlags] !== undefined);
  return found?.[1];
}

/** The folder of manifests. A flag for a cluster takes precedence over the variable. */
function manifestsOf(flags: PlaceFlags, env: Env): string | undefined {
  return (
    flags.manifests ??
    (clusterFlag(flags) === undefined ? env['MODEL_GATEWAY_MANIFESTS'] || undefined : undefined)
  );
}

function dataOf(flags: PlaceFlags, env: Env): string | undefined {
  return flags.data ?? (flags.manifests === undefined ? env['MODEL_GATEWAY_DATA'] || undefined : undefined);
}

/** The namespace that was named as the controller's; if undefined, it is searched for. */
export function homeNamespaceOf(flags: PlaceFlags, env: Env): string | undefined {
  return flags.homeNamespace ?? (env['MODEL_GATEWAY_HOME_NAMESPACE'] || undefined);
}

/**
 * Opens the place that the flags, or `MODEL_GATEWAY_MANIFESTS` and `MODEL_GATEWAY_DATA`, name.
 *
 * @throws CommandError for flags that exclude each other, and a kubeconfig or folder that cannot be used
 */
export async function openPlace(flags: PlaceFlags, env: Env): Promise<Declarations> {
  const manifests = manifestsOf(flags, env);
  const cluster = clusterFlag(flags);
  if (flags.asGroup !== undefined && flags.as === undefined) {
    throw usageError('--as-group needs --as; name the user too.');
  }
  if (flags.manifests !== undefined && cluster !== undefined) {
    const message = `${cluster} is for a cluster and --manifests for a folder; leave one of them out.`;
    throw usageError(message);
  }
  if (flags.data !== undefined && manifests === undefined) {
    throw usageError('--data goes with --manifests; give the folder of manifests too.');
  }
  if (manifests !== undefined) return openFolder(manifests, flags, env);
  return openCluster(flags, env);
}

async function openFolder(manifests: string, flags: PlaceFlags, env: Env): Promise<Declarations> {
  const { folderDeclarations } = await import('./edit/folder-declarations.ts');
  return folderDeclarations({ manifests, data: dataOf(flags, env), namespace: flags.namespace });
}

async function openCluster(flags: PlaceFlags, env: Env): Promise<Declarations> {
  const [client, { clusterDeclarations }] = await Promise.all([
    connectCluster(flags),
    import('./edit/cluster-declarations.ts'),
  ]);
  return clusterDeclarations(client, {
    namespace: flags.namespace,
    homeNamespace: homeNamespaceOf(flags, env),
  });
}

/** A client for the cluster that the flags name. Throws CommandError if the kubeconfig cannot be used. */
export async function connectCluster(flags: PlaceFlags): Promise<KubeClient> {
  const { connectToCluster } = await import('../kube/connect-cluster.ts');
  const { kubeconfig, context, as, asGroup, requestTimeout } = flags;
  try {
    return await connectToCluster({
      kubeconfig,
      context,
      as,
      asGroups: asGroup,
      timeoutMs: requestTimeout,
      userAgent: `model-gateway-cli/${productVersion()}`,
    });
  } catch (error) {
    // The message quotes nothing of the kubeconfig, so it is safe to show.
    const reason = errorText(error);
    throw new CommandError(
      exitCodes.unavailable,
      `${reason}. For a folder of manifests give --manifests DIR.`,
    );
  }
}
