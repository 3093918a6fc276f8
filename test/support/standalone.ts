import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeyText, hashKeyText } from '../../src/resources/key-text.ts';
import { type Caller, callerOf } from './caller.ts';
import { type LogLine, type Program, type ProgramOptions, startProgram } from './program.ts';

/** A folder of manifests and one for data, below a folder of their own. */
export interface Folders extends AsyncDisposable {
  readonly root: string;
  readonly manifests: string;
  readonly data: string;
  /** Writes a manifest, as editors do: under another name first, then in its place. */
  write(file: string, text: string): Promise<void>;
  remove(file: string): Promise<void>;
}

export interface StandaloneOptions {
  /** Manifests by file name, written before the start. */
  readonly manifests?: Readonly<Record<string, string>>;
  /** Folders of an earlier process; new ones else, which end with the process. */
  readonly folders?: Folders;
  readonly flags?: readonly string[];
  readonly logLevel?: 'debug' | 'info';
  readonly env?: Readonly<Record<string, string>>;
  /** Whether host names resolve; see `ProgramOptions`. */
  readonly names?: boolean;
  /** Whether the console is served too. */
  readonly console?: boolean;
  /** What runs it, and another version of it; see `ProgramOptions`. */
  readonly run?: Pick<ProgramOptions, 'under' | 'program'>;
}

/** `model-gateway standalone` as a process, serving. */
export interface Standalone extends Program {
  readonly folders: Folders;
  /** Port of the traffic address. */
  readonly port: number;
  /** With `/v1`. */
  readonly baseURL: string;
  /** Origin of the admin port. */
  readonly admin: string;
  caller(key: string): Caller;
  /** Its log lines of level warn and worse. */
  complaints(): readonly LogLine[];
}

export async function newFolders(manifests: Readonly<Record<string, string>> = {}): Promise<Folders> {
  const root = await mkdtemp(join(tmpdir(), 'model-gateway-standalone-'));
  const folder = join(root, 'manifests');
  const folders: Folders = {
    root,
    manifests: folder,
    data: join(root, 'data'),
    async write(file, text) {
      await writeFile(join(root, 'next'), text);
      await rename(join(root, 'next'), join(folder, file));
    },
    remove: (file) => rm(join(folder, file)),
    // Where a namespace of its own was around the process, its last write may come after that was killed.
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  };
  await mkdir(folder);
  for (const [file, text] of Object.entries(manifests)) await folders.write(file, text);
  return folders;
}

/** Starts standalone mode on free ports and waits until it serves. */
export async function startStandalone(options: StandaloneOptions = {}): Promise<Standalone> {
  const folders = options.folders ?? (await newFolders(options.manifests));
  const program = startProgram({
    args: [
      'standalone',
      ...['--manifests', folders.manifests, '--data', folders.data],
      ...['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'],
      ...['--log-level', options.logLevel ?? 'info'],
      ...(options.console === true ? [] : ['--no-console']),
      ...(options.flags ?? []),
    ],
    names: options.names ?? true,
    env: options.env ?? {},
    ...options.run,
  });
  await program.until('standalone serves', () => program.listens('Serving') !== undefined);
  const address = program.listens('Serving') ?? '';
  const baseURL = `http://${address}/v1`;
  return {
    ...program,
    folders,
    baseURL,
    port: Number(address.split(':').at(-1)),
    admin: `http://${program.listens('Serving probes and metrics')}`,
    caller: (key) => callerOf(baseURL, key),
    complaints: () =>
      program.log().filter(({ level }) => level === 'warn' || level === 'error' || level === 'fatal'),
    async [Symbol.asyncDispose]() {
      await program.stop('SIGKILL');
      if (options.folders === undefined) await folders[Symbol.asyncDispose]();
    },
  };
}

const apiVersion = 'modelgateway.dev/v1alpha1';

/** A manifest of our kinds; JSON is YAML. */
export function manifest(
  kind: 'UpstreamNode' | 'APIKey' | 'MasterKey',
  name: string,
  spec: Readonly<Record<string, unknown>>,
  metadata: Readonly<Record<string, unknown>> = {},
): string {
  return `${JSON.stringify({ apiVersion, kind, metadata: { name, ...metadata }, spec }, null, 2)}\n`;
}

/** Several documents in one file. */
export function manifests(...documents: readonly string[]): string {
  return documents.join('---\n');
}

/** A key with its text known from the start, and the `spec` that declares it. */
export function keyWithHash(kind: 'api' | 'master' = 'api'): { text: string; hash: string } {
  const text = generateKeyText(kind, randomBytes);
  return { text, hash: hashKeyText(text) };
}
