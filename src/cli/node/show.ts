import type { AddCommand } from '../add-command.ts';
import { completes } from '../completion/completes.ts';
import { explained } from '../help.ts';
import { hasColour, type OutputFlags, printResource, withOutput } from '../output.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { nodeRef } from './name.ts';
import { nodeText } from './text.ts';

/** `node show` */
export const addNodeShow: AddCommand = (group, context) => {
  const command = group
    .command('show')
    .summary('everything about one node')
    .description('Shows everything about one node: what is declared, what was found, every model.')
    .argument('<name>', 'name of the node')
    .action(async (name: string, flags: PlaceFlags & OutputFlags) => {
      const place = await context.declarations(flags);
      const node = await place.get(nodeRef(place, name), context.signal);
      return printResource(context, flags.output, node.resource, () =>
        nodeText(node, { now: context.clock.wall(), colour: hasColour(context) }),
      );
    });
  completes(command, 'node');
  withPlace(withOutput(command, ['table', 'json', 'yaml', 'name']));
  explained(command, { examples: ['node show openai', 'node show openai -o yaml'] });
};
