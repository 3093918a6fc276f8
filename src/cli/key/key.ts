import type { AddCommand } from '../add-command.ts';
import { explained } from '../help.ts';
import { addKeyCreate } from './create.ts';
import { addKeyEdit } from './edit.ts';
import { apiKeyWords, type KeyWords, masterKeyWords } from './kind.ts';
import { addKeyReveal } from './reveal.ts';
import { addKeyRevoke } from './revoke.ts';
import { addKeyRotate } from './rotate.ts';
import { addKeyShow } from './show.ts';
import { addKeySwitches } from './switch.ts';

/** `key …` */
export const addKey: AddCommand = (program, context) => addGroup(program, context, apiKeyWords);

/** `masterkey …` */
export const addMasterKey: AddCommand = (program, context) => addGroup(program, context, masterKeyWords);

function addGroup(...[program, context, words]: [...Parameters<AddCommand>, KeyWords]): void {
  const what =
    words.kind === 'APIKey'
      ? 'Makes, shows, edits, rotates and revokes keys of callers.'
      : 'Makes, shows, rotates and revokes master keys, which open /v1/keys alone.';
  const group = program.command(words.group).description(what);
  explained(group, { examples: [`${words.group} create ci --expires 90d`, `${words.group} show ci`] });
  for (const add of [
    addKeyCreate,
    addKeyShow,
    addKeyReveal,
    addKeyEdit,
    addKeyRotate,
    addKeySwitches,
    addKeyRevoke,
  ])
    add(group, context, words);
}
