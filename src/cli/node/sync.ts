import { Option } from 'commander';
import type { AddCommand } from '../add-command.ts';
import { CommandError } from '../command-error.ts';
import { completes } from '../completion/completes.ts';
import type { CommandContext } from '../context.ts';
import type { Declarations } from '../edit/declarations.ts';
import { syncEdit } from '../edit/node-edits.ts';
import { exitCodes } from '../exit-codes.ts';
import { forEachName } from '../for-each-name.ts';
import { explained } from '../help.ts';
import { resourceName } from '../output.ts';
import { duration, type PlaceFlags, showsStatus, withPlace } from '../place.ts';
import { type WriteFlags, withWriting, writeOptions } from '../writing.ts';
import { nodeRef } from './name.ts';
import { type AskedSync, type SyncOutcome, syncOutcome } from './sync-outcome.ts';

interface Flags extends PlaceFlags, WriteFlags {
  readonly wait: boolean;
  /** Milliseconds. */
  readonly timeout: number;
}

const reminderMs = 10_000;

/** `node sync` */
export const addNodeSync: AddCommand = (group, context) => {
  const command = group
    .command('sync')
    .summary('ask nodes for their models now')
    .description('Asks the controller to sync the model lists of nodes now, and waits for it.')
    .argument('<name...>', 'names of the nodes')
    .option('--no-wait', 'only ask; do not wait for the outcome')
    .addOption(
      new Option('--timeout <time>', 'longest wait: 30s, 5m').argParser(duration).default(60_000, '1m'),
    )
    .action(async (names: readonly string[], flags: Flags) => {
      const place = await context.declarations(flags);
      const asked = new Map<string, AskedSync>();
      let failure: unknown;
      try {
        await forEachName(context, names, async (name) => {
          const ref = nodeRef(place, name);
          const { resource } = await place.get(ref, context.signal);
          const request = context.clock.wall().toISOString();
          await place.edit(ref, [syncEdit(request)], writeOptions(flags), context.signal);
          asked.set(ref.name, { before: resource, request });
        });
      } catch (error) {
        // The others were asked all the same, and their outcome is wanted.
        failure = error;
      }
      if (asked.size > 0) await afterAsking(context, place, asked, flags);
      if (failure !== undefined) throw failure;
    });
  completes(command, 'node');
  withPlace(withWriting(command));
  explained(command, { examples: ['node sync openai', 'node sync openai old-server --no-wait'] });
};

async function afterAsking(
  context: CommandContext,
  place: Declarations,
  asked: ReadonlyMap<string, AskedSync>,
  flags: Flags,
): Promise<void> {
  const dryRun = flags.dryRun === true;
  if (flags.wait && !dryRun && showsStatus(flags, context.env)) {
    return waitForAll(context, place, asked, flags.timeout);
  }
  for (const { before } of asked.values()) {
    context.out.write(`${resourceName(before)} asked to sync${dryRun ? ' (dry run)' : ''}\n`);
  }
  if (flags.wait && !dryRun) {
    context.err.write(
      "What came of it stands in the gateway's data folder: add --data DIR to wait for it.\n",
    );
  }
}

async function waitForAll(
  context: CommandContext,
  place: Declarations,
  asked: ReadonlyMap<string, AskedSync>,
  timeoutMs: number,
): Promise<void> {
  const waiting = new Map(asked);
  const failed: SyncOutcome[] = [];
  const done = new AbortController();
  const { clock, err, out, calledAs } = context;
  const told = (): void => {
    err.write(`Waiting for ${[...waiting.keys()].join(', ')} …\n`);
  };
  const cancelTimeout = timeoutMs > 0 ? clock.after(timeoutMs, () => done.abort()) : () => {};
  let cancelReminder = () => {};
  const remind = (): void => {
    cancelReminder = clock.after(reminderMs, () => {
      told();
      remind();
    });
  };
  if (context.isTerminal.stderr) {
    told();
    remind();
  }
  try {
    await place.watch(
      'UpstreamNode',
      place.namespace,
      ({ ref, after }) => {
        const sync = waiting.get(ref.name);
        const outcome = sync === undefined ? undefined : syncOutcome(sync, after?.resource);
        if (outcome === undefined) return;
        waiting.delete(ref.name);
        if (outcome.failed) {
          failed.push(outcome);
          err.write(`${calledAs}: ${ref.name}: ${outcome.text}\n`);
        } else {
          out.write(`upstreamnode.modelgateway.dev/${ref.name} ${outcome.text}\n`);
        }
        if (waiting.size === 0) done.abort();
      },
      AbortSignal.any([context.signal, done.signal]),
    );
  } catch (error) {
    if (!done.signal.aborted) throw error;
  } finally {
    cancelTimeout();
    cancelReminder();
  }
  context.signal.throwIfAborted();
  if (waiting.size > 0) {
    const names = [...waiting.keys()].join(', ');
    const message = `not synced in ${timeoutMs / 1_000} s: ${names}. Is the controller running? Wait longer with --timeout.`;
    throw new CommandError(exitCodes.timeout, message);
  }
  if (failed.length > 0) throw new CommandError(exitCodes.failed, '');
}
