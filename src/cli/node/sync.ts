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
import { namedRef, nodeWords } from '../named.ts';
import { resourceName } from '../output.ts';
import { duration, type PlaceFlags, showsStatus, withPlace } from '../place.ts';
import { cannotWait, watchUntil } from '../watch-until.ts';
import { type WriteFlags, withWriting, writeOptions } from '../writing.ts';
import { type AskedSync, syncOutcome } from './sync-outcome.ts';

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
          const ref = namedRef(place, nodeWords, name);
          const { resource } = await place.get(ref, context.signal);
          const { discovery, suspend } = resource.spec.sync;
          // The controller would not act on the request, and a later change of the field would.
          if (suspend && discovery === 'Always')
            throw new CommandError(
              exitCodes.failed,
              'its sync is suspended, so its list stays as it is; set spec.sync.suspend to false first',
            );
          const request = context.clock.wall().toISOString();
          await place.edit(ref, [syncEdit(request)], writeOptions(flags), context.signal);
          asked.set(ref.name, { before: resource, request });
        });
      } catch (error) {
        // The sync of the other nodes was requested, and their outcome matters.
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
    context.err.write(cannotWait);
  }
}

async function waitForAll(
  context: CommandContext,
  place: Declarations,
  asked: ReadonlyMap<string, AskedSync>,
  timeoutMs: number,
): Promise<void> {
  const waiting = new Map(asked);
  let hasFailed = false;
  const { clock, err, out, calledAs } = context;
  let cancelReminder = () => {};
  const remind = (): void => {
    err.write(`Waiting for ${[...waiting.keys()].join(', ')} …\n`);
    cancelReminder = clock.after(reminderMs, remind);
  };
  if (context.isTerminal.stderr) remind();
  try {
    await watchUntil(context, place, 'UpstreamNode', timeoutMs, ({ ref, after }) => {
      const sync = waiting.get(ref.name);
      const outcome = sync === undefined ? undefined : syncOutcome(sync, after?.resource);
      if (outcome === undefined) return false;
      waiting.delete(ref.name);
      if (outcome.failed) {
        hasFailed = true;
        err.write(`${calledAs}: ${ref.name}: ${outcome.text}\n`);
      } else {
        out.write(`upstreamnode.modelgateway.dev/${ref.name} ${outcome.text}\n`);
      }
      return waiting.size === 0;
    });
  } finally {
    cancelReminder();
  }
  if (waiting.size > 0) {
    const names = [...waiting.keys()].join(', ');
    const message = `not synced in ${timeoutMs / 1_000} s: ${names}. Is the controller running? Wait longer with --timeout.`;
    throw new CommandError(exitCodes.timeout, message);
  }
  if (hasFailed) throw new CommandError(exitCodes.failed, '');
}
