import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import { CommandError } from './command-error.ts';
import type { Declarations } from './edit/declarations.ts';
import { exitCodes } from './exit-codes.ts';

/** Where a command reads and writes, as its flags say: kubectl's own, or the folder of standalone mode. */
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
}

/** The flags of every command that reads a cluster or a folder, with what `help flags` says of them. */
export const placeFlags: readonly (readonly [flags: string, help: string])[] = [
  ['-n, --namespace NAME', "namespace (default: the context's own; in a folder: default)"],
  ['-A, --all-namespaces', 'all namespaces, where a command lists'],
  ['--context NAME', 'context of the kubeconfig'],
  ['--kubeconfig FILE', 'kubeconfig (default: $KUBECONFIG, ~/.kube/config, the pod)'],
  ['--as USER', 'act as this user'],
  ['--as-group GROUP', 'act as this group, repeatable; with --as'],
  ['--request-timeout TIME', 'longest time of one request: 30s, 1m (default 10s; 0: no limit)'],
  ['--manifests DIR', 'work on this folder of manifests instead of a cluster'],
  ['--data DIR', "the gateway's data folder beside it: status, sealing key"],
];

/** Adds `placeFlags` to a command. `--help` of the command leaves them out: `help flags` has them. */
export function withPlace(command: Command, scope: 'one' | 'many' = 'one'): Command {
  for (const [flags, help] of placeFlags) {
    if (flags.startsWith('-A') && scope === 'one') continue;
    // commander takes what stands in angle brackets for a value.
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
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (units[unit ?? ''] ?? 0), 0);
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Opens the place that the flags, or `MODEL_GATEWAY_MANIFESTS` and `MODEL_GATEWAY_DATA`, name. A flag of the cluster
 * wins over the variables. Throws CommandError for flags that exclude each other or a kubeconfig that cannot be used.
 */
export async function openPlace(
  flags: PlaceFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Declarations> {
  const clusterFlags = (['context', 'kubeconfig', 'as', 'asGroup'] as const).filter(
    (name) => flags[name] !== undefined,
  );
  if (flags.asGroup !== undefined && flags.as === undefined) {
    throw new CommandError(exitCodes.usage, '--as-group needs --as; name the user too.');
  }
  const fromEnv = clusterFlags.length === 0 ? env['MODEL_GATEWAY_MANIFESTS'] || undefined : undefined;
  const manifests = flags.manifests ?? fromEnv;
  if (manifests === undefined) {
    if (flags.data !== undefined) {
      throw new CommandError(
        exitCodes.usage,
        '--data goes with --manifests; give the folder of manifests too.',
      );
    }
    throw new CommandError(exitCodes.unavailable, 'a cluster cannot be opened yet');
  }
  if (clusterFlags.length > 0) {
    const [flag = ''] = clusterFlags;
    throw new CommandError(
      exitCodes.usage,
      `--${flag.replace('asGroup', 'as-group')} is for a cluster and --manifests for a folder; leave one of them out.`,
    );
  }
  throw new CommandError(exitCodes.unavailable, 'a folder cannot be opened yet');
}
