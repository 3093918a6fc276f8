import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Probe, startProbe } from '../support/probe-connection.ts';
import type { LogLine } from '../support/program.ts';
import { newFolders, startStandalone } from '../support/standalone.ts';

/** A resource of ours, or a Secret. */
export interface Declared {
  readonly kind: 'UpstreamNode' | 'APIKey' | 'MasterKey' | 'Secret';
  readonly name: string;
  /** `spec`, or a Secret's `stringData`. */
  readonly holds: Readonly<Record<string, unknown>>;
}

/** The file that is broken on purpose now and then. */
export const brokenFile = 'nodes.yaml';

/** What is soaked: a gateway as a process of its own, and the place where its resources are declared. */
export interface Ground extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
  /** Origin of `/metrics`. */
  readonly admin: string;
  readonly probe: Probe;
  /** Declares what `file` holds, instead of what it held before. */
  declare(file: string, resources: readonly Declared[]): Promise<void>;
  withdraw(file: string): Promise<void>;
  /** Lets there be a file that is no manifest, which is an error in the log; absent where there are no files. */
  breakFile?(): Promise<void>;
  log(): readonly LogLine[];
  /** @throws when the process has ended, with what it printed */
  alive(): void;
}

/** `model-gateway standalone` on an empty folder. */
export async function standaloneGround(): Promise<Ground> {
  const probe = await startProbe();
  const folders = await newFolders();
  const standalone = await startStandalone({ folders, env: probe.env });
  const write = (file: string, text: string) => folders.write(`${file}.yaml`, text);
  return {
    ...{ pid: standalone.pid, port: standalone.port, admin: standalone.admin, probe },
    ...{ log: standalone.log, alive: standalone.alive },
    declare: (file, resources) => write(file, resources.map(manifestOf).join('\n---\n')),
    withdraw: (file) => rm(join(folders.manifests, `${file}.yaml`), { force: true }),
    breakFile: () => write('nodes', 'kind: UpstreamNode\nspec: {baseURL: [never\n closed'),
    async [Symbol.asyncDispose]() {
      await standalone[Symbol.asyncDispose]();
      await probe[Symbol.asyncDispose]();
      await delay(50);
      await folders[Symbol.asyncDispose]();
    },
  };
}

/** JSON is YAML. */
function manifestOf({ kind, name, holds }: Declared): string {
  const metadata = { name };
  if (kind === 'Secret') {
    return JSON.stringify({ apiVersion: 'v1', kind, metadata, stringData: holds });
  }
  return JSON.stringify({ apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata, spec: holds });
}
