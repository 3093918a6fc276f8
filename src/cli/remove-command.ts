import type { AddCommand } from './add-command.ts';
import { completes } from './completion/completes.ts';
import { confirm } from './confirm.ts';
import { forEachName } from './for-each-name.ts';
import { explained } from './help.ts';
import { gatewaysToWaitFor, type ProofFlags, provenText, withProof } from './key/proof.ts';
import { managedNotice } from './managed-notice.ts';
import { readNamed, type Words } from './named.ts';
import { resourceName } from './output.ts';
import { type PlaceFlags, withPlace } from './place.ts';
import { switchOne } from './switch-commands.ts';

interface Flags extends PlaceFlags, ProofFlags {
  readonly yes?: boolean;
  readonly disable?: boolean;
}

/** How a command that deletes resources calls that. */
interface RemoveText {
  readonly verb: 'delete' | 'revoke';
  readonly summary: string;
  readonly description: string;
  /** What ends the question whether to do it. */
  readonly forGood?: string;
  /** What `--disable` does; without it there is no such flag. */
  readonly disable?: string;
  readonly examples: readonly [string, string];
}

/** Adds the command that deletes resources of a kind. */
export function addRemove(
  [group, context]: Parameters<AddCommand>,
  words: Words,
  { verb, summary, description, forGood = '', disable, examples }: RemoveText,
): void {
  const { noun } = words;
  const command = group
    .command(verb)
    .summary(summary)
    .description(description)
    .argument('<name...>', `names of the ${noun}s`)
    .option('-y, --yes', 'do not ask');
  if (disable !== undefined) withProof(command.option('--disable', disable));
  command
    .option('--dry-run', `say what would be ${verb}d`)
    .action(async (names: readonly string[], flags: Flags) => {
      const place = await context.declarations(flags);
      const gateways = gatewaysToWaitFor(place, flags);
      const { yes = false, dryRun = false } = flags;
      if (!yes && !dryRun && flags.disable !== true) {
        const what =
          names.length === 1 ? `the ${noun} ${names[0]}` : `${names.length} ${noun}s (${names.join(', ')})`;
        const where = `in namespace ${place.namespace} of ${place.place}`;
        await confirm(context, `${verb === 'delete' ? 'Delete' : 'Revoke'} ${what} ${where}${forGood}?`);
      }
      await forEachName(context, names, async (name) => {
        if (flags.disable === true) return switchOne(context, place, words, name, false, flags);
        const { ref, before } = await readNamed(context, place, words, name, flags);
        await place.remove(ref, { dryRun }, context.signal);
        const said = dryRun ? `would be ${verb}d (dry run)` : `${verb}d`;
        context.out.write(`${resourceName(before.resource)} ${said}\n`);
        context.err.write(managedNotice(name, before.managedBy, 'removed'));
        if (gateways === undefined) return;
        const version = await gateways.deletedAt(ref, before.resource.metadata, context.signal);
        const text = await provenText(context, gateways, ref, before, version, flags.timeout);
        context.out.write(`${resourceName(before.resource)} ${text}\n`);
      });
    });
  withPlace(command);
  completes(command, words.group);
  explained(command, { examples });
}
