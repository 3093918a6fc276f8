import type { AddCommand } from '../add-command.ts';
import { completes } from '../completion/completes.ts';
import type { CommandContext } from '../context.ts';
import type { Declarations } from '../edit/declarations.ts';
import { forEachName } from '../for-each-name.ts';
import { explained } from '../help.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { switchResource } from '../switch-resource.ts';
import { type WriteFlags, withWriting } from '../writing.ts';
import { type KeyWords, keyRef } from './kind.ts';
import { notDeclared } from './not-declared.ts';

/** `key enable` and `key disable`, and those of master keys */
export function addKeySwitches(...[group, context, words]: [...Parameters<AddCommand>, KeyWords]): void {
  for (const enabled of [true, false]) {
    const verb = enabled ? 'enable' : 'disable';
    const command = group
      .command(verb)
      .summary(`${verb} ${words.noun}s`)
      .description(
        enabled
          ? `Lets ${words.noun}s open the gateway again.`
          : `Lets ${words.noun}s open nothing, without deleting them; requests in flight finish.`,
      )
      .argument('<name...>', `names of the ${words.noun}s`)
      .action(async (names: readonly string[], flags: PlaceFlags & WriteFlags) => {
        const place = await context.declarations(flags);
        await forEachName(context, names, (name) => switchOne(context, place, words, name, enabled, flags));
      });
    withPlace(withWriting(command));
    completes(command, words.group);
    explained(command, {
      examples: [`${words.group} ${verb} ci`, `${words.group} ${verb} ci app --dry-run`],
    });
  }
}

/** Sets `spec.enabled` of one key and says so. */
export async function switchOne(
  context: CommandContext,
  place: Declarations,
  words: KeyWords,
  name: string,
  enabled: boolean,
  flags: PlaceFlags & WriteFlags,
): Promise<void> {
  const ref = keyRef(place, words, name);
  const before = await place.get(ref, context.signal).catch(notDeclared(ref, flags, context.env));
  await switchResource(context, place, { ref, name, before }, enabled, flags);
}
