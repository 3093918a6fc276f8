import type { AddCommand } from '../add-command.ts';
import { completes } from '../completion/completes.ts';
import { explained } from '../help.ts';
import { hasColour, type OutputFlags, printResource, withOutput } from '../output.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { type KeyWords, keyRef } from './kind.ts';
import { notDeclared } from './not-declared.ts';
import { keyText } from './text.ts';

/** `key show` and `masterkey show` */
export function addKeyShow(...[group, context, words]: [...Parameters<AddCommand>, KeyWords]): void {
  const command = group
    .command('show')
    .summary(`everything about one ${words.noun}, but the key itself`)
    .description(`Shows everything about one ${words.noun} but the key itself, which nobody has.`)
    .argument('<name>', `name of the ${words.noun}`)
    .action(async (name: string, flags: PlaceFlags & OutputFlags) => {
      const place = await context.declarations(flags);
      const ref = keyRef(place, words, name);
      const key = await place.get(ref, context.signal).catch(notDeclared(ref, flags, context.env));
      return printResource(context, flags.output, key.resource, () =>
        keyText(key, { now: context.clock.wall(), colour: hasColour(context) }),
      );
    });
  withPlace(withOutput(command, ['table', 'json', 'yaml', 'name']));
  completes(command, words.group);
  explained(command, { examples: [`${words.group} show ci`, `${words.group} show ci -o yaml`] });
}
