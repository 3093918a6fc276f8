import { type Command, Option } from 'commander';
import { classLabel } from '../../resources/class-label.ts';
import type { Kind } from '../../store/store.ts';
import { CommandError, usageError } from '../command-error.ts';
import type { CommandContext } from '../context.ts';
import type { Declarations, Declared, Gateways, Ref } from '../edit/declarations.ts';
import { exitCodes } from '../exit-codes.ts';
import { duration } from '../place.ts';

/** Flags of a command that can wait until every gateway has applied what it did. */
export interface ProofFlags {
  readonly wait?: boolean;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly dryRun?: boolean;
}

/** Adds `--wait` and `--timeout`. */
export function withProof(command: Command): Command {
  return command
    .option('--wait', 'until no gateway accepts it, or say which may')
    .addOption(
      new Option('--timeout <time>', 'longest wait: 30s, 5m').argParser(duration).default(60_000, '1m'),
    );
}

/** The gateways to wait for; undefined if there is nothing to wait for. Throws CommandError in a folder. */
export function gatewaysToWaitFor(place: Declarations, flags: ProofFlags): Gateways | undefined {
  if (flags.wait !== true || flags.dryRun === true) return undefined;
  if (place.gateways !== undefined) return place.gateways;
  throw usageError(
    '--wait is for a cluster; a standalone gateway is one process, which applies a change at once.',
  );
}

/** Waits until every gateway has applied a change of a key, and returns what to print. Throws CommandError if one has not. */
export async function provenText(
  { clock, signal }: Pick<CommandContext, 'clock' | 'signal'>,
  gateways: Gateways,
  ref: Ref,
  { resource: { metadata } }: Declared<Kind>,
  version: string,
  timeoutMs = 60_000,
): Promise<string> {
  const { kind, namespace } = ref;
  const className = metadata.labels?.[classLabel];
  const target = { kind, namespace, version };
  const { standing, faults } = await gateways.whenApplied(target, className, timeoutMs, clock, signal);
  if (standing === undefined) {
    const why = faults.length === 0 ? '' : ` (${faults.join('; ')})`;
    throw new CommandError(
      exitCodes.forbidden,
      `done, but the reports of gateways cannot be read${why}, so whether every gateway has applied it is not known.`,
    );
  }
  const { applied, pending, silent } = standing;
  const count = applied.length + pending.length + silent.length;
  if (count === 0) {
    throw new CommandError(
      exitCodes.failed,
      `done, but no gateway that serves namespace ${namespace} reports, so nothing is proven. If gateways run elsewhere, name their namespace with MODEL_GATEWAY_HOME_NAMESPACE.`,
    );
  }
  if (pending.length + silent.length === 0) return `${applied.length}/${count} gateways have applied it`;
  const waits = pending.length === 0 ? '' : `; not applied by: ${pending.join(', ')}`;
  const mute = silent.length === 0 ? '' : `; no report for 45 s: ${silent.join(', ')}`;
  throw new CommandError(
    exitCodes.timeout,
    `done, but after ${timeoutMs / 1_000} s only ${applied.length}/${count} gateways have applied it${waits}${mute}. They may still accept the key: delete their pods if it must be dead now.`,
  );
}
