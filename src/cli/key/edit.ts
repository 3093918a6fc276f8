import { Option } from 'commander';
import type { AddCommand } from '../add-command.ts';
import { usageError } from '../command-error.ts';
import { completes } from '../completion/completes.ts';
import type { CommandContext } from '../context.ts';
import type { Edit } from '../edit/edit.ts';
import { editInEditor } from '../edit-in-editor.ts';
import { printEdit } from '../edit-outcome.ts';
import { editResource } from '../edit-resource.ts';
import { editorOf } from '../editor.ts';
import { explained } from '../help.ts';
import { readNamed } from '../named.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { type WriteFlags, withWriting } from '../writing.ts';
import { expiryOf } from './expiry.ts';
import type { KeyWords } from './kind.ts';
import { names } from './names.ts';
import { warnOfUnserved } from './unserved.ts';

interface Flags extends PlaceFlags, WriteFlags {
  readonly displayName?: string;
  /** A time, or `never`. */
  readonly expires?: string;
  readonly enabled?: 'true' | 'false';
  /** Names, or only `all`. */
  readonly models?: readonly string[];
  /** Names, or only `none`. */
  readonly nodeNamespaces?: readonly string[];
  readonly conversion?: 'Lossy' | 'Strict';
}

/** `key edit` and `masterkey edit` */
export function addKeyEdit(...[group, context, words]: [...Parameters<AddCommand>, KeyWords]): void {
  const { noun, kind } = words;
  const command = group
    .command('edit')
    .summary(`change a ${noun} by flags, or in your editor`)
    .description(`Changes a ${noun} by flags; without flags in KUBE_EDITOR, VISUAL or EDITOR.`)
    .argument('<name>', `name of the ${noun}`)
    .option('--display-name <text>', 'name for people; "" removes it')
    .option('--expires <when>', '90d, 2027-01-31T00:00:00Z, or never', (text) =>
      text === 'never' ? text : expiryOf(text, context.clock.wall()),
    )
    .addOption(new Option('--enabled <yes>', 'true or false').choices(['true', 'false']))
    .action((name: string, flags: Flags) => editOne(context, words, name, flags));
  if (kind === 'APIKey') {
    command
      .option('--models <names>', 'models it may ask for; all: every one', names)
      .option('--node-namespaces <names>', 'whose nodes it may use besides; or none', names)
      .addOption(new Option('--conversion <how>', 'Lossy or Strict').choices(['Lossy', 'Strict']));
  }
  withPlace(withWriting(command));
  completes(command, words.group);
  const first = kind === 'APIKey' ? '--models gpt-5,qwen3 --expires 90d' : '--expires 90d';
  explained(command, {
    examples: [`${words.group} edit ci ${first}`, `${words.group} edit ci --expires never --dry-run`],
  });
}

async function editOne(context: CommandContext, words: KeyWords, name: string, flags: Flags): Promise<void> {
  const place = await context.declarations(flags);
  const { before } = await readNamed(context, place, words, name, flags);
  const edits = keyEdits(flags);
  const models = isAll(flags.models) ? [] : (flags.models ?? []);
  if (edits.length > 0) {
    const stored = await editResource(context, place, before, edits, flags);
    await warnOfUnserved(context, place, flags, models);
    return printEdit(context, flags, stored);
  }
  const editor = editorOf(context);
  if (editor === undefined) {
    const message = `nothing to change: give flags (${words.group} edit --help), or name an editor in EDITOR.`;
    throw usageError(message);
  }
  return printEdit(context, flags, await editInEditor(context, place, before, editor, flags));
}

function isAll(models: readonly string[] | undefined): boolean {
  return models?.length === 1 && models[0] === 'all';
}

function keyEdits(flags: Flags): Edit[] {
  const edits: Edit[] = [];
  const wish = (field: string, value: unknown, removes: boolean): void => {
    if (value === undefined) return;
    const path = ['spec', field];
    edits.push(removes ? { path, remove: true } : { path, value });
  };
  const { displayName, expires, enabled, models, nodeNamespaces, conversion } = flags;
  wish('displayName', displayName, displayName === '');
  wish('expirationTime', expires, expires === 'never');
  wish('enabled', enabled === undefined ? undefined : enabled === 'true', false);
  wish('models', models, isAll(models));
  wish('nodeNamespaces', nodeNamespaces, nodeNamespaces?.length === 1 && nodeNamespaces[0] === 'none');
  wish('conversion', conversion, false);
  return edits;
}
