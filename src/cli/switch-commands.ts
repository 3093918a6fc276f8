import type { AddCommand } from './add-command.ts';
import { completes } from './completion/completes.ts';
import type { CommandContext } from './context.ts';
import type { Declarations, Declared } from './edit/declarations.ts';
import { forEachName } from './for-each-name.ts';
import { explained } from './help.ts';
import { gatewaysToWaitFor, type ProofFlags, provenText, withProof } from './key/proof.ts';
import { managedNotice } from './managed-notice.ts';
import { readNamed, type Words } from './named.ts';
import { resourceName } from './output.ts';
import { type PlaceFlags, withPlace } from './place.ts';
import { type WriteFlags, withWriting, writeOptions } from './writing.ts';

interface SwitchText {
  readonly verb: 'enable' | 'disable';
  readonly summary: string;
  readonly description: string;
}

/** Adds `enable` and `disable` to the group of a kind. `examples` are two names. */
export function addSwitches(
  [group, context]: Parameters<AddCommand>,
  words: Words,
  texts: readonly SwitchText[],
  examples: readonly [string, string],
): void {
  for (const { verb, summary, description } of texts) {
    const command = group
      .command(verb)
      .summary(summary)
      .description(description)
      .argument('<name...>', `names of the ${words.noun}s`)
      .action(async (names: readonly string[], flags: PlaceFlags & WriteFlags & ProofFlags) => {
        const place = await context.declarations(flags);
        gatewaysToWaitFor(place, flags);
        await forEachName(context, names, (name) =>
          switchOne(context, place, words, name, verb === 'enable', flags),
        );
      });
    withPlace(withWriting(words.kind === 'UpstreamNode' || verb === 'enable' ? command : withProof(command)));
    completes(command, words.group);
    const start = `${words.group} ${verb} ${examples[0]}`;
    explained(command, { examples: [start, `${start} ${examples[1]} --dry-run`] });
  }
}

/** Sets `spec.enabled` of one resource, unless it has that value already, and prints what happened. */
export async function switchOne(
  context: CommandContext,
  place: Declarations,
  words: Words,
  name: string,
  enabled: boolean,
  flags: PlaceFlags & WriteFlags & ProofFlags,
): Promise<void> {
  const { out, err, signal } = context;
  const gateways = gatewaysToWaitFor(place, flags);
  const { ref, before } = await readNamed(context, place, words, name, flags);
  const state = enabled ? 'enabled' : 'disabled';
  const prove = async (now: Declared): Promise<void> => {
    if (gateways === undefined) return;
    const { resourceVersion = '' } = now.resource.metadata;
    const text = await provenText(context, gateways, ref, now, resourceVersion, flags.timeout);
    out.write(`${resourceName(now.resource)} ${text}\n`);
  };
  if (before.resource.spec.enabled === enabled) {
    out.write(`${resourceName(before.resource)} was ${state} already\n`);
    return prove(before);
  }
  const edits = [{ path: ['spec', 'enabled'], value: enabled }];
  const after = await place.edit(ref, edits, writeOptions(flags), signal);
  const said = flags.dryRun === true ? `would be ${state} (dry run)` : state;
  out.write(`${resourceName(before.resource)} ${said}\n`);
  err.write(managedNotice(name, before.managedBy));
  await prove(after);
}
