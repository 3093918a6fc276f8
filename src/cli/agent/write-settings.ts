import type { Stats } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, errorText } from '../../observe/error-text.ts';
import { CommandError } from '../command-error.ts';
import { confirm } from '../confirm.ts';
import type { CommandContext } from '../context.ts';
import { FileChangedError, writeManifest, writeNewManifest } from '../edit/write-manifest.ts';
import { UneditableError } from '../edit/yaml-source.ts';
import { exitCodes } from '../exit-codes.ts';
import { textDiff } from '../text-diff.ts';
import type { SettingsFile } from './agent-settings.ts';
import { masked } from './masked.ts';
import { foreignCredential, mergedText } from './merged-text.ts';

/** A file as it is and as it should be. */
interface Change {
  readonly file: SettingsFile;
  readonly before: string | undefined;
  readonly after: string;
}

/**
 * Merges settings into their files: shows what would change, asks, and writes each file at once.
 *
 * @throws CommandError if a file cannot be merged safely (then none is written), if the answer is no, and if a file changed since then
 */
export async function writeSettings(
  context: CommandContext,
  files: readonly SettingsFile[],
  yes: boolean,
): Promise<void> {
  const changes = (await Promise.all(files.map(planned))).filter(({ before, after }) => before !== after);
  if (changes.length === 0) {
    context.err.write(`${files.map(({ path }) => path).join(' and ')} stays as it is.\n`);
    return;
  }
  for (const { file, before, after } of changes) {
    context.out.write(`${file.path}${before === undefined ? ' (new)' : ''}\n`);
    context.out.write(masked(textDiff(before ?? '', after)));
  }
  if (!yes) await confirm(context, `Write ${changes.map(({ file }) => file.path).join(' and ')}?`);
  for (const change of changes) {
    await write(change);
    context.err.write(`${change.file.path} written\n`);
  }
}

async function planned(file: SettingsFile): Promise<Change> {
  for (const rival of file.rivals ?? []) {
    if (!(await exists(rival))) continue;
    throw byHand(file.path, `${rival} takes precedence over it`);
  }
  const before = await textOf(file.path);
  try {
    const credential = foreignCredential(before, file);
    if (credential !== undefined) {
      throw byHand(
        file.path,
        `its ${credential} is a credential that would be sent to the gateway; remove it`,
      );
    }
    return { file, before, after: mergedText(before, file) };
  } catch (error) {
    if (error instanceof UneditableError) throw byHand(file.path, error.message);
    throw error;
  }
}

function byHand(path: string, reason: string): CommandError {
  return new CommandError(
    exitCodes.failed,
    `${path} was not changed: ${reason}. Without --write this command prints the settings, to be added by hand.`,
  );
}

async function exists(path: string): Promise<boolean> {
  return (await statOf(path)) !== undefined;
}

async function textOf(path: string): Promise<string | undefined> {
  const found = await statOf(path);
  if (found === undefined) return undefined;
  // Before it is opened: to open a fifo waits for a writer.
  if (!found.isFile()) throw byHand(path, 'it is no regular file');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(path));
  } catch (error) {
    if (errorCode(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA') throw byHand(path, 'it is not UTF-8');
    throw unwritable(path, error);
  }
}

/** What a path, or the link there, leads to; undefined if nothing is there. */
async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw unwritable(path, error);
  }
}

async function write({ file: { path }, before, after }: Change): Promise<void> {
  try {
    if (before === undefined) {
      await mkdir(dirname(path), { recursive: true });
      if (!(await writeNewManifest(path, after))) throw new FileChangedError();
      return;
    }
    await writeManifest(path, (text) => {
      if (text !== before) throw new FileChangedError();
      return after;
    });
  } catch (error) {
    if (!(error instanceof FileChangedError)) throw unwritable(path, error);
    const message = `another program changed ${path} at the same time, so it was not written; try again.`;
    throw new CommandError(exitCodes.conflict, message);
  }
}

function unwritable(path: string, error: unknown): CommandError {
  const reason = errorCode(error) ?? errorText(error);
  return new CommandError(exitCodes.unavailable, `${path} cannot be read or written (${reason}).`);
}
