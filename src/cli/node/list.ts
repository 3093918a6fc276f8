import { explained } from '../help.ts';
import { type OutputFlags, printList, resourceName, withOutput } from '../output.ts';
import { listedNamespace, type PlaceFlags, withPlace } from '../place.ts';
import type { AddCommand } from '../program.ts';
import { nodeColumns } from './columns.ts';

/** `nodes` */
export const addNodes: AddCommand = (program, context) => {
  const command = program
    .command('nodes')
    .description('Lists the nodes with what the controller found out about each.')
    .action(async (flags: PlaceFlags & OutputFlags) => {
      const place = await context.declarations(flags);
      const namespace = listedNamespace(flags, place);
      const nodes = await place.list('UpstreamNode', namespace, context.signal);
      await printList(context, flags.output, {
        items: nodes,
        columns: nodeColumns({ namespaces: namespace === undefined, now: context.clock.wall() }),
        object: ({ resource }) => resource,
        name: ({ resource }) => resourceName(resource),
        none: `No nodes found ${namespace === undefined ? 'in any namespace' : `in namespace ${namespace}`} of ${place.place}.`,
      });
    });
  withPlace(withOutput(command), 'many');
  explained(command, { examples: ['nodes -o wide', 'nodes --all-namespaces -o name'] });
};
