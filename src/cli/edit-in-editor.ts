import type { Kind } from '../store/store.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext } from './context.ts';
import { thing } from './edit/api-failure.ts';
import { DeclarationError, type Declarations, type Declared, refOf } from './edit/declarations.ts';
import { changedFields, overlaps } from './edit/difference.ts';
import { type EditedFile, editedFile } from './editor.ts';
import { declarationMessage } from './error-message.ts';
import { exitCodeOf } from './exit-codes.ts';
import { type WriteFlags, writeOptions } from './writing.ts';

/** How often the editor is opened: a script in its place could repeat one mistake without end. */
const mostRounds = 50;

/**
 * Lets a person edit a resource in an editor, as `kubectl edit` does. A refused text is opened again, with the reason on top.
 *
 * @returns what was stored; undefined if nothing was changed
 * @throws CommandError if the person gives up, or another person changed the same fields; then a copy of the text is kept
 */
export async function editInEditor<K extends Kind>(
  context: CommandContext,
  place: Declarations,
  declared: Declared<K>,
  editor: string,
  flags: WriteFlags,
): Promise<{ readonly before: Declared<K>; readonly after: Declared<K> } | undefined> {
  const ref = refOf(declared);
  if (declared.kept !== undefined) {
    throw new DeclarationError('Invalid', `${thing(ref)} cannot be changed: ${declared.kept}.`);
  }
  const title = `${thing(ref)} of ${place.place}`;
  const file = await editedFile(editor, `${ref.name}.yaml`);
  const original = declared.manifest.endsWith('\n') ? declared.manifest : `${declared.manifest}\n`;
  let text = original;
  let failure: DeclarationError | undefined;
  for (let round = 0; round < mostRounds; round += 1) {
    const edited = await file.edit(headerOf(title, failure) + text).then(withoutHeader, async (error) => {
      if (failure === undefined) await file.remove();
      throw error;
    });
    if (edited.trim() === '' || edited === original) {
      await file.remove();
      context.err.write(
        `Edit cancelled, ${edited.trim() === '' ? 'the file was empty' : 'no changes made'}.\n`,
      );
      return undefined;
    }
    if (failure !== undefined && edited === text) throw await keptCopy(failure, file, text);
    text = edited;
    try {
      const stored = await rewritten(context, place, declared, text, flags);
      await file.remove();
      return stored;
    } catch (error) {
      if (!(error instanceof DeclarationError)) throw error;
      if (error.reason !== 'Invalid') throw await keptCopy(error, file, text);
      failure = error;
    }
  }
  throw await keptCopy(failure ?? new DeclarationError('Invalid', 'It was refused too often.'), file, text);
}

/** Stores the text. Fields that other people changed since it was read stay, unless the text changes them too. */
async function rewritten<K extends Kind>(
  { signal, err }: CommandContext,
  place: Declarations,
  before: Declared<K>,
  text: string,
  flags: WriteFlags,
): Promise<{ readonly before: Declared<K>; readonly after: Declared<K> }> {
  const options = writeOptions(flags);
  try {
    const after = await place.rewrite(before, text, { ...options, version: before.version }, signal);
    return { before, after };
  } catch (error) {
    if (!(error instanceof DeclarationError) || error.reason !== 'Conflict') throw error;
    const now = await place.get(refOf(before), signal);
    // It was not changed: another manager owns the field, and the error says so.
    if (now.version === before.version) throw error;
    const { parse } = await import('yaml');
    const [was, is, wished]: unknown[] = [before.manifest, now.manifest, text].map((each) => parse(each));
    const theirs = changedFields(was, is);
    const same = changedFields(was, wished).filter((field) => overlaps(field, theirs));
    if (same.length > 0 || before.source !== undefined) {
      const fields = (same.length > 0 ? same : theirs).join(', ');
      throw new DeclarationError(
        'Conflict',
        `Another person changed ${fields} while you edited; look at it and edit again.`,
      );
    }
    err.write(`Another person changed ${theirs.join(', ')} while you edited; that stays.\n`);
    const after = await place.rewrite(before, text, { ...options, version: now.version }, signal);
    return { before: now, after };
  }
}

async function keptCopy(error: DeclarationError, file: EditedFile, text: string): Promise<CommandError> {
  await file.write(text);
  return new CommandError(
    exitCodeOf(error.reason),
    `${declarationMessage(error)}\nWhat you wrote is kept in ${file.path}.`,
  );
}

/** Starts our own lines, which are left out of the manifest; its own comments stay. */
const mark = '#|';

function headerOf(title: string, failure: DeclarationError | undefined): string {
  const reasons = failure === undefined ? [] : declarationMessage(failure).split('\n');
  const lines = [
    `${title}. It is stored when you save and leave the editor.`,
    'An empty file, or one without changes, cancels. Lines like this one are left out.',
    ...(reasons.length === 0 ? [] : ['', 'It was refused:', ...reasons.map((line) => `  ${line}`)]),
  ];
  return lines.map((line) => `${`${mark} ${line}`.trimEnd()}\n`).join('');
}

function withoutHeader(text: string): string {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => !line.startsWith(mark));
  return first === -1 ? '' : lines.slice(first).join('\n');
}
