import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../observe/log.ts';
import { watchFolders } from '../../store/folder/watch-folders.ts';
import { TlsFileError } from '../../tls/pem-file.ts';
import { readTlsPair, type TlsFiles, type TlsPair } from '../../tls/tls-pair.ts';

interface FollowTlsFilesOptions {
  readonly files: TlsFiles;
  /** The pair in force. */
  readonly first: TlsPair;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Puts a new pair in force. */
  readonly use: (pair: TlsPair) => void;
  /** Called once for each broken pair that was found. */
  readonly onBroken: () => void;
  /** How long the folders must be quiet before the files are read. */
  readonly quietMs?: number;
  /** How often the files are read although no change was reported. */
  readonly pollMs?: number;
}

/**
 * Puts each new pair in force as its files change, until the signal aborts. A broken pair leaves the last good one in
 * force and is logged once. Never throws.
 */
export async function followTlsFiles(options: FollowTlsFilesOptions): Promise<void> {
  const { files, log, signal, quietMs = 200, pollMs = 10_000 } = options;
  let inForce = options.first;
  let complained = '';
  const read = async (): Promise<TlsPair> => {
    try {
      return await readTlsPair(files);
    } catch {
      // One file may belong to the previous pair: read again when the writer has had time to finish.
      await delay(quietMs, undefined, { signal });
      return readTlsPair(files);
    }
  };
  const look = async (): Promise<Iterable<string>> => {
    try {
      const pair = await read();
      complained = '';
      if (!pair.cert.equals(inForce.cert) || !pair.key.equals(inForce.key)) {
        inForce = pair;
        options.use(pair);
      }
    } catch (error) {
      const reason = error instanceof TlsFileError ? error.message : 'the files could not be read';
      if (!signal.aborted && reason !== complained) {
        complained = reason;
        options.onBroken();
        log.error({ reason, certFile: files.cert, keyFile: files.key }, 'Kept the TLS certificate in force');
      }
    }
    return foldersOf(files);
  };
  await watchFolders(await foldersOf(files), { log, signal, quietMs, pollMs }, look);
}

/** The folders to watch: those of the files, and those of the files that they link to. */
async function foldersOf({ cert, key }: TlsFiles): Promise<Set<string>> {
  const real = await Promise.all([cert, key].map((path) => realpath(path).catch(() => path)));
  return new Set([cert, key, ...real].map((path) => dirname(path)));
}
