import type { Kind } from '../store/store.ts';
import type { AddCommand } from './add-command.ts';
import { completes } from './completion/completes.ts';
import type { Declared } from './edit/declarations.ts';
import { explained } from './help.ts';
import { readNamed, type Words } from './named.ts';
import { hasColour, type OutputFlags, printResource, withOutput } from './output.ts';
import { type PlaceFlags, withPlace } from './place.ts';
import type { Shown } from './rows.ts';

interface ShowText<K extends Kind> {
  readonly summary: string;
  readonly description: string;
  /** The name in the examples. */
  readonly example: string;
  /** Everything about a resource, for people. */
  text(declared: Declared<K>, shown: Shown): string;
}

/** Adds `show` to the group of a kind. */
export function addShow<K extends Kind>(
  [group, context]: Parameters<AddCommand>,
  words: Words<K>,
  { summary, description, example, text }: ShowText<K>,
): void {
  const command = group
    .command('show')
    .summary(summary)
    .description(description)
    .argument('<name>', `name of the ${words.noun}`)
    .action(async (name: string, flags: PlaceFlags & OutputFlags) => {
      const place = await context.declarations(flags);
      const { before } = await readNamed(context, place, words, name, flags);
      return printResource(context, flags.output, before.resource, () =>
        text(before, { now: context.clock.wall(), colour: hasColour(context) }),
      );
    });
  withPlace(withOutput(command, ['table', 'json', 'yaml', 'name']));
  completes(command, words.group);
  explained(command, {
    examples: [`${words.group} show ${example}`, `${words.group} show ${example} -o yaml`],
  });
}
