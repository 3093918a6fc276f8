import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandError } from './command-error.ts';
import type { CommandContext } from './context.ts';
import { exitCodes } from './exit-codes.ts';

/** A file that a person edits; it exists until `remove`. */
export interface EditedFile {
  readonly path: string;
  /** Writes the text, waits until the editor ends, and returns the text of the file. */
  edit(text: string): Promise<string>;
  write(text: string): Promise<void>;
  remove(): Promise<void>;
}

/** The editor that the environment names, else the usual one; undefined if there is neither a name nor a terminal. */
export function editorOf({
  env,
  isTerminal,
}: Pick<CommandContext, 'env' | 'isTerminal'>): string | undefined {
  const named = env['KUBE_EDITOR'] || env['VISUAL'] || env['EDITOR'];
  if (named) return named;
  return isTerminal.stdin ? (process.platform === 'win32' ? 'notepad' : 'vi') : undefined;
}

/** Makes a new folder for a file of this name, which only this user may read. */
export async function editedFile(editor: string, name: string): Promise<EditedFile> {
  const folder = await mkdtemp(join(tmpdir(), 'model-gateway-edit-'));
  const path = join(folder, name);
  const write = (text: string) => writeFile(path, text, { mode: 0o600 });
  return {
    path,
    write,
    async edit(text) {
      await write(text);
      await run(editor, path);
      return readFile(path, 'utf8');
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

function run(editor: string, path: string): Promise<void> {
  // In a shell, because people write `code --wait`. The path is an argument of its own, because it may contain blanks.
  const [command, args] =
    process.platform === 'win32'
      ? ([`${editor} "${path}"`, []] as const)
      : (['/bin/sh', ['-c', `${editor} "$@"`, 'editor', path]] as const);
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', shell: process.platform === 'win32' });
    child.on('error', (error) => reject(failed(editor, error.message)));
    child.on('exit', (code, signal) =>
      code === 0 ? resolve() : reject(failed(editor, `ended with ${signal ?? code}`)),
    );
  });
}

function failed(editor: string, what: string): CommandError {
  return new CommandError(
    exitCodes.failed,
    `the editor ${editor} ${what}; nothing was changed. Choose another with KUBE_EDITOR, VISUAL or EDITOR.`,
  );
}
