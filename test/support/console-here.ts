import { randomBytes } from 'node:crypto';
import { folderDeclarations } from '../../src/cli/edit/folder-declarations.ts';
import { type ConsoleOptions, type RunningConsole, startConsole } from '../../src/console/console.ts';
import { type Folders, newFolders } from './standalone.ts';

/** A console on a folder, in this process. */
export interface ConsoleHere extends RunningConsole, AsyncDisposable {
  readonly folders: Folders;
}

/** Starts a console on new folders with these manifests. It ends with its folders. */
export async function startConsoleHere(
  manifests: Readonly<Record<string, string>>,
  options: Partial<ConsoleOptions> = {},
): Promise<ConsoleHere> {
  const folders = await newFolders(manifests);
  const { manifests: folder, data } = folders;
  const ended = new AbortController();
  const running = await startConsole({
    declarations: folderDeclarations({ manifests: folder, data, namespace: undefined }),
    namespace: undefined,
    explain: () => Promise.reject(new Error('not asked here')),
    host: '127.0.0.1',
    port: 0,
    readOnly: false,
    gatewayURL: undefined,
    version: 'test',
    idleMs: 60 * 60_000,
    now: Date.now,
    randomBytes,
    signal: ended.signal,
    onFailure: () => {},
    ...options,
  });
  return {
    ...running,
    folders,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await running.close();
      await folders[Symbol.asyncDispose]();
    },
  };
}
