import type { Command } from 'commander';
import type { AddCommand } from '../add-command.ts';
import { CommandError, usageError } from '../command-error.ts';
import { completes } from '../completion/completes.ts';
import type { CommandContext } from '../context.ts';
import { modelEdits } from '../edit/node-edits.ts';
import { exitCodes } from '../exit-codes.ts';
import { explained } from '../help.ts';
import { managedNotice } from '../managed-notice.ts';
import { namedRef, nodeWords } from '../named.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { oneLine } from '../table.ts';
import { type WriteFlags, withWriting, writeOptions } from '../writing.ts';
import { pickModels } from './pick-models.ts';

type Flags = PlaceFlags & WriteFlags & { readonly all?: boolean };

/** `model enable` and `model disable` */
export const addModelSwitches: AddCommand = (group, context) => {
  addSwitch(group, context, true);
  addSwitch(group, context, false);
};

function addSwitch(group: Command, context: CommandContext, enabled: boolean): void {
  const verb = enabled ? 'enable' : 'disable';
  const command = group
    .command(verb)
    .summary(`${verb} models of a node`)
    .description(`${enabled ? 'Enables' : 'Disables'} models of a node for callers.`)
    .argument('<node>', 'name of the node')
    .argument('[model...]', 'names, or patterns with * and ? in quotes')
    .option('--all', 'every model that the node has now')
    .action((node: string, models: readonly string[], flags: Flags) =>
      switchModels(context, node, models, flags, enabled),
    );
  completes(command, 'node', 'node-model');
  withPlace(withWriting(command));
  explained(command, {
    notes: [
      'Models that a later sync discovers start as spec.sync.newModels says.',
      'Patterns leave thousands out: node edit NAME --exclude-models PATTERNS.',
    ],
    examples: [`model ${verb} openai gpt-5 'text-embedding-*'`, `model ${verb} openai --all --dry-run`],
  });
}

async function switchModels(
  context: CommandContext,
  node: string,
  words: readonly string[],
  flags: Flags,
  enabled: boolean,
): Promise<void> {
  const verb = enabled ? 'enable' : 'disable';
  if ((words.length === 0) !== (flags.all === true)) {
    throw usageError(`name the models to ${verb}, or give --all for every one.`);
  }
  const place = await context.declarations(flags);
  const ref = namedRef(place, nodeWords, node);
  const { resource, managedBy } = await place.get(ref, context.signal);
  const { models, problems } = pickModels(resource, flags.all === true ? ['*'] : words);
  for (const problem of problems) context.err.write(`${context.calledAs}: ${ref.name}: ${problem}\n`);
  const changed = models.filter((model) => model.enabled !== enabled).map(({ name }) => name);
  if (changed.length > 0) {
    await place.edit(ref, modelEdits(resource, changed, enabled), writeOptions(flags), context.signal);
  }
  for (const name of changed) {
    context.out.write(
      `${oneLine(name)} ${flags.dryRun === true ? `would be ${verb}d (dry run)` : `${verb}d`}\n`,
    );
  }
  const others = models.length - changed.length;
  if (others > 0) {
    context.err.write(`${others} ${others === 1 ? 'model was' : 'models were'} ${verb}d already.\n`);
  }
  if (changed.length > 0) context.err.write(managedNotice(ref.name, managedBy));
  if (problems.length > 0) throw new CommandError(exitCodes.notFound, '');
}
