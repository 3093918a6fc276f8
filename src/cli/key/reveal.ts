import type { AddCommand } from '../add-command.ts';
import { CommandError } from '../command-error.ts';
import { completes } from '../completion/completes.ts';
import type { CommandContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { explained } from '../help.ts';
import { readNamed } from '../named.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import type { KeyWords } from './kind.ts';

/** `key reveal` and `masterkey reveal` */
export function addKeyReveal(...[group, context, words]: [...Parameters<AddCommand>, KeyWords]): void {
  const { noun } = words;
  const command = group
    .command('reveal')
    .summary(`print a ${noun} that was put into a Secret`)
    .description(`Prints the text of a ${noun} that the controller put into a Secret.`)
    .argument('<name>', `name of the ${noun}`)
    .action((name: string, flags: PlaceFlags) => revealOne(context, words, name, flags));
  withPlace(command);
  completes(command, words.group);
  explained(command, {
    notes: ['It needs permission to read that Secret, or in a folder the data folder.'],
    examples: [`${words.group} reveal app`, `${words.group} reveal app -n team-a`],
  });
}

async function revealOne(
  context: CommandContext,
  words: KeyWords,
  name: string,
  flags: PlaceFlags,
): Promise<void> {
  const place = await context.declarations(flags);
  const { ref, before } = await readNamed(context, place, words, name, flags);
  const { secretName } = before.resource.spec;
  if (secretName === undefined) {
    throw new CommandError(
      exitCodes.invalid,
      `only the hash of ${name} is kept, so it cannot be shown; make another: ${context.calledAs} ${words.group} create NAME`,
    );
  }
  const text = await place.secretEntry(ref.namespace, secretName, 'apiKey', context.signal);
  if (text === undefined) {
    throw new CommandError(
      exitCodes.notFound,
      `the Secret ${ref.namespace}/${secretName} holds no key yet; ${context.calledAs} ${words.group} show ${name} says why. In a folder give --data, the gateway's data folder.`,
    );
  }
  context.out.write(`${text}\n`);
}
