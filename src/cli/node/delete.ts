import type { AddCommand } from '../add-command.ts';
import { completes } from '../completion/completes.ts';
import { confirm } from '../confirm.ts';
import { forEachName } from '../for-each-name.ts';
import { explained } from '../help.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { removeResource } from '../remove-resource.ts';
import { nodeRef } from './name.ts';

interface Flags extends PlaceFlags {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** `node delete` */
export const addNodeDelete: AddCommand = (group, context) => {
  const command = group
    .command('delete')
    .summary('delete nodes')
    .description('Deletes nodes: requests stop going there at once, those in flight finish.')
    .argument('<name...>', 'names of the nodes')
    .option('-y, --yes', 'do not ask')
    .option('--dry-run', 'say what would be deleted')
    .action(async (names: readonly string[], flags: Flags) => {
      const place = await context.declarations(flags);
      const dryRun = flags.dryRun === true;
      if (flags.yes !== true && !dryRun) {
        const what =
          names.length === 1 ? `the node ${names[0]}` : `${names.length} nodes (${names.join(', ')})`;
        await confirm(context, `Delete ${what} in namespace ${place.namespace} of ${place.place}?`);
      }
      await forEachName(context, names, async (name) => {
        const ref = nodeRef(place, name);
        const before = await place.get(ref, context.signal);
        await removeResource(context, place, { ref, name, before }, 'deleted', dryRun);
      });
    });
  completes(command, 'node');
  withPlace(command);
  explained(command, { examples: ['node delete old-server --dry-run', 'node delete old-server --yes'] });
};
