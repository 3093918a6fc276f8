import type { AddCommand } from '../add-command.ts';
import { explained } from '../help.ts';
import { noneFound, warnOfManifests } from '../manifest-problems.ts';
import { type OutputFlags, printList, resourceName, withOutput } from '../output.ts';
import { listedNamespace, type PlaceFlags, withPlace } from '../place.ts';
import { type SelectorFlags, selected, withSelector } from '../selector.ts';
import { keyColumns } from './columns.ts';
import { apiKeyWords, type KeyWords, masterKeyWords } from './kind.ts';

/** `keys` */
export const addKeys: AddCommand = (program, context) => addList(program, context, apiKeyWords);

/** `masterkeys` */
export const addMasterKeys: AddCommand = (program, context) => addList(program, context, masterKeyWords);

function addList(...[program, context, words]: [...Parameters<AddCommand>, KeyWords]): void {
  const { group, kind, noun } = words;
  const command = program
    .command(`${group}s`)
    .description(
      kind === 'APIKey'
        ? 'Lists the keys of callers; of a key no more than a hint is known.'
        : 'Lists the master keys, which open /v1/keys and nothing else.',
    )
    .action(async (flags: PlaceFlags & OutputFlags & SelectorFlags) => {
      const place = await context.declarations(flags);
      const namespace = listedNamespace(flags, place);
      const keys = selected(await place.list(kind, namespace, context.signal), flags);
      const where = namespace === undefined ? 'in any namespace' : `in namespace ${namespace}`;
      await printList(context, flags.output, {
        items: keys,
        columns: keyColumns({
          namespaces: namespace === undefined,
          models: kind === 'APIKey',
          now: context.clock.wall(),
        }),
        object: ({ resource }) => resource,
        name: ({ resource }) => resourceName(resource),
        none: await noneFound(place, `No ${noun}s found ${where} of ${place.place}`),
      });
      await warnOfManifests(context, place);
    });
  withPlace(withSelector(withOutput(command)), 'many');
  explained(command, { examples: [`${group}s -o wide`, `${group}s --all-namespaces -o name`] });
}
