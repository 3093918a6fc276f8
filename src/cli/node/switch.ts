import type { Command } from 'commander';
import type { AddCommand } from '../add-command.ts';
import { completes } from '../completion/completes.ts';
import type { CommandContext } from '../context.ts';
import { forEachName } from '../for-each-name.ts';
import { explained } from '../help.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { switchResource } from '../switch-resource.ts';
import { type WriteFlags, withWriting } from '../writing.ts';
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
        await switchResource(context, place, { ref, name, before }, enabled, flags);
      });
    });
  completes(command, 'node');
  withPlace(withWriting(command));
  explained(command, { examples: [`node ${verb} openai`, `node ${verb} openai old-server --dry-run`] });
}
