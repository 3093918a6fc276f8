import type { Command } from 'commander';
import type { AddCommand } from '../add-command.ts';
import { completes } from '../completion/completes.ts';
import type { CommandContext } from '../context.ts';
import { forEachName } from '../for-each-name.ts';
import { explained } from '../help.ts';
import { managedNotice } from '../managed-notice.ts';
import { resourceName } from '../output.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { type WriteFlags, withWriting, writeOptions } from '../writing.ts';
import { nodeRef } from './name.ts';

/** `node enable` and `node disable` */
export const addNodeSwitches: AddCommand = (group, context) => {
  addSwitch(group, context, true);
  addSwitch(group, context, false);
};

function addSwitch(group: Command, context: CommandContext, enabled: boolean): void {
  const verb = enabled ? 'enable' : 'disable';
  const command = group
    .command(verb)
    .summary(enabled ? 'let nodes take requests' : 'take nodes out of routing, without deleting them')
    .description(
      enabled
        ? 'Lets nodes take requests again.'
        : 'Takes nodes out of routing without deleting them; requests in flight finish.',
    )
    .argument('<name...>', 'names of the nodes')
    .action(async (names: readonly string[], flags: PlaceFlags & WriteFlags) => {
      const place = await context.declarations(flags);
      await forEachName(context, names, async (name) => {
        const ref = nodeRef(place, name);
        const before = await place.get(ref, context.signal);
        if (before.resource.spec.enabled === enabled) {
          context.out.write(`${resourceName(before.resource)} was ${verb}d already\n`);
          return;
        }
        const edit = { path: ['spec', 'enabled'], value: enabled };
        await place.edit(ref, [edit], writeOptions(flags), context.signal);
        context.out.write(
          `${resourceName(before.resource)} ${verb}d${flags.dryRun === true ? ' (dry run)' : ''}\n`,
        );
        context.err.write(managedNotice(name, before.managedBy));
      });
    });
  completes(command, 'node');
  withPlace(withWriting(command));
  explained(command, { examples: [`node ${verb} openai`, `node ${verb} openai old-server --dry-run`] });
}
