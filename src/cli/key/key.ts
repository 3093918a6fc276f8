import type { AddCommand } from '../add-command.ts';
import { explained } from '../help.ts';
import { addRemove } from '../remove-command.ts';
import { addShow } from '../show-command.ts';
import { addSwitches } from '../switch-commands.ts';
import { addKeyCreate } from './create.ts';
import { addKeyEdit } from './edit.ts';
import { apiKeyWords, type KeyWords, masterKeyWords } from './kind.ts';
import { addKeyReveal } from './reveal.ts';
import { addKeyRotate } from './rotate.ts';
import { keyText } from './text.ts';

/** `key …` */
export const addKey: AddCommand = (program, context) => addGroup(program, context, apiKeyWords);

/** `masterkey …` */
export const addMasterKey: AddCommand = (program, context) => addGroup(program, context, masterKeyWords);

function addGroup(...[program, context, words]: [...Parameters<AddCommand>, KeyWords]): void {
  const { group: name, noun, kind } = words;
  const what =
    kind === 'APIKey'
      ? 'Makes, shows, edits, rotates and revokes keys of callers.'
      : 'Makes, shows, rotates and revokes master keys, which open /v1/keys alone.';
  const group = program.command(name).description(what);
  explained(group, { examples: [`${name} create ci --expires 90d`, `${name} show ci`] });
  addKeyCreate(group, context, words);
  addShow([group, context], words, {
    summary: `everything about one ${noun}, but the key itself`,
    description: `Shows everything about one ${noun} but the key itself, which nobody has.`,
    example: 'ci',
    text: keyText,
  });
  addKeyReveal(group, context, words);
  addKeyEdit(group, context, words);
  addKeyRotate(group, context, words);
  addSwitches(
    [group, context],
    words,
    [
      {
        verb: 'enable',
        summary: `enable ${noun}s`,
        description: `Lets ${noun}s open the gateway again.`,
      },
      {
        verb: 'disable',
        summary: `disable ${noun}s`,
        description: `Lets ${noun}s open nothing, without deleting them; requests in flight finish.`,
      },
    ],
    ['ci', 'app'],
  );
  addRemove([group, context], words, {
    verb: 'revoke',
    summary: `revoke ${noun}s at once, by deleting them`,
    description: `Revokes ${noun}s at once by deleting them; requests in flight finish.`,
    forGood: ', for good',
    disable: 'only disable them: enable lets the same key in again',
    examples: [`${name} revoke ci --yes`, `${name} revoke app --disable`],
  });
}
