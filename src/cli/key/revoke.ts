import type { AddCommand } from '../add-command.ts';
import { completes } from '../completion/completes.ts';
import { confirm } from '../confirm.ts';
import { forEachName } from '../for-each-name.ts';
import { explained } from '../help.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { removeResource } from '../remove-resource.ts';
import { type KeyWords, keyRef } from './kind.ts';
import { notDeclared } from './not-declared.ts';
import { switchOne } from './switch.ts';

interface Flags extends PlaceFlags {
  readonly yes?: true;
  readonly disable?: true;
  readonly dryRun?: boolean;
}

/** `key revoke` and `masterkey revoke` */
export function addKeyRevoke(...[group, context, words]: [...Parameters<AddCommand>, KeyWords]): void {
  const { noun } = words;
  const command = group
    .command('revoke')
    .summary(`revoke ${noun}s at once, by deleting them`)
    .description(`Revokes ${noun}s at once by deleting them; requests in flight finish.`)
    .argument('<name...>', `names of the ${noun}s`)
    .option('-y, --yes', 'do not ask')
    .option('--disable', 'only disable them: enable lets the same key in again')
    .option('--dry-run', 'say what would be revoked')
    .action(async (names: readonly string[], flags: Flags) => {
      const place = await context.declarations(flags);
      const dryRun = flags.dryRun === true;
      if (flags.yes !== true && flags.disable !== true && !dryRun) {
        const what =
          names.length === 1 ? `the ${noun} ${names[0]}` : `${names.length} ${noun}s (${names.join(', ')})`;
        await confirm(context, `Revoke ${what} in namespace ${place.namespace} of ${place.place}, for good?`);
      }
      await forEachName(context, names, async (name) => {
        if (flags.disable === true) return switchOne(context, place, words, name, false, flags);
        const ref = keyRef(place, words, name);
        const before = await place.get(ref, context.signal).catch(notDeclared(ref, flags, context.env));
        await removeResource(context, place, { ref, name, before }, 'revoked', dryRun);
      });
    });
  withPlace(command);
  completes(command, words.group);
  explained(command, {
    examples: [`${words.group} revoke ci --yes`, `${words.group} revoke app --disable`],
  });
}
