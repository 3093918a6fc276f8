import type { AddCommand } from '../add-command.ts';
import type { CommandContext } from '../context.ts';
import type { Declarations, Declared } from '../edit/declarations.ts';
import { explained } from '../help.ts';
import { noneFound, warnOfManifests } from '../manifest-problems.ts';
import {
  type Listing,
  listText,
  type OutputFlags,
  printData,
  printList,
  resourceName,
  withOutput,
} from '../output.ts';
import { listedNamespace, type PlaceFlags, withPlace } from '../place.ts';
import { type SelectorFlags, selected, withSelector } from '../selector.ts';
import { nodeColumns } from './columns.ts';

interface Flags extends PlaceFlags, OutputFlags, SelectorFlags {
  readonly watch?: boolean;
}

/** `nodes` */
export const addNodes: AddCommand = (program, context) => {
  const command = program
    .command('nodes')
    .description('Lists the nodes, with what the controller found about each.')
    .option('-w, --watch', 'after the list, print each node that changes until Ctrl-C')
    .action(async (flags: Flags) => {
      const place = await context.declarations(flags);
      const namespace = listedNamespace(flags, place);
      if (flags.watch === true) return watchNodes(context, place, namespace, flags);
      const nodes = selected(await place.list('UpstreamNode', namespace, context.signal), flags);
      const where = namespace === undefined ? 'in any namespace' : `in namespace ${namespace}`;
      const none = await noneFound(place, `No nodes found ${where} of ${place.place}`);
      await printList(context, flags.output, { ...listing(context, namespace, nodes), none });
      await warnOfManifests(context, place);
    });
  withPlace(withSelector(withOutput(command)), 'many');
  explained(command, { examples: ['nodes -o wide', 'nodes --all-namespaces -o name'] });
};

function listing(
  context: CommandContext,
  namespace: string | undefined,
  items: readonly Declared<'UpstreamNode'>[],
): Omit<Listing<Declared<'UpstreamNode'>>, 'none'> {
  return {
    items,
    columns: nodeColumns({ namespaces: namespace === undefined, now: context.clock.wall() }),
    object: ({ resource }) => resource,
    name: ({ resource }) => resourceName(resource),
  };
}

/** Prints the list, then a line for each change, aligned with it. A deleted node is reported on stderr. */
async function watchNodes(
  context: CommandContext,
  place: Declarations,
  namespace: string | undefined,
  flags: Flags,
): Promise<void> {
  await warnOfManifests(context, place);
  const { output } = flags;
  const first: Declared<'UpstreamNode'>[] = [];
  const widths: number[] = [];
  let isListed = false;
  const print = (nodes: readonly Declared<'UpstreamNode'>[], titles: boolean): void => {
    const { columns, name } = listing(context, namespace, nodes);
    if (output === 'table' || output === 'wide') {
      context.out.write(listText(context, output, { items: nodes, columns }, titles, widths));
    } else if (output === 'name') {
      for (const node of nodes) context.out.write(`${name(node)}\n`);
    } else {
      for (const { resource } of nodes) void printData(context, output, resource);
    }
  };
  await place.watch(
    'UpstreamNode',
    namespace,
    ({ ref, after }) => {
      if (after === undefined) context.err.write(`${ref.namespace}/${ref.name} was deleted.\n`);
      else if (selected([after], flags).length === 0) return;
      else if (isListed) print([after], false);
      else first.push(after);
    },
    context.signal,
    () => {
      isListed = true;
      print(first, true);
    },
  );
  context.signal.throwIfAborted();
}
