import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Caller } from '../support/caller.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Folders,
  keyWithHash,
  manifest,
  manifests,
  newFolders,
  type Standalone,
  type StandaloneOptions,
  startStandalone,
} from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream, type UpstreamOptions } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';
import { type Ask, ask, chatBody, type Outcome } from './ask.ts';
import { type HonestCaller, honestCaller } from './honest-caller.ts';

/** What a host name resolves to, one look-up after the other: addresses, an error code, or `never`. */
export type Names = Readonly<Record<string, readonly (readonly string[] | string)[]>>;

/** One node of a model: an upstream that behaves so, or an address of its own. */
export interface NodeWish {
  /** What it does with every chat request; it answers well without. */
  readonly behaviour?: Behaviour;
  readonly upstream?: UpstreamOptions;
  /** Instead of an upstream; `PORT` stands for the port of the first upstream among these nodes. */
  readonly baseURL?: string;
  /** Default: 90 for the first, 80 for the second … */
  readonly priority?: number;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** A model that was declared for one fault. */
export interface Declared {
  readonly model: string;
  readonly upstreams: readonly ScriptedUpstream[];
  /** The names of its nodes, `default/<name>`, in the order given. */
  readonly nodes: readonly string[];
  chat(stream?: boolean, more?: Partial<Ask>): Promise<Outcome>;
}

/** A gateway in a process of its own with honest callers at it. */
export interface Served extends AsyncDisposable {
  /** The process of now; another one after `restart`. */
  readonly process: Standalone;
  readonly folders: Folders;
  readonly honest: HonestCaller;
  readonly upstream: ScriptedUpstream;
  readonly key: string;
  readonly master: string;
  ask(request: Partial<Ask>): Promise<Outcome>;
  caller(key?: string): Caller;
  /** Declares nodes for a model of their own, and waits until they are in force. They go with `forget`. */
  declare(nodes: readonly NodeWish[]): Promise<Declared>;
  /** Waits until what was written up to now is in force. */
  settled(): Promise<void>;
  /** Sets what names resolve to from now on; those of before are kept. */
  resolve(names: Names): Promise<void>;
  /** Starts a process anew on the same address and folders; the one before must have ended. */
  restart(options?: StandaloneOptions): Promise<void>;
  /** The sum of all samples of a metric whose labels hold `labels`. */
  metric(name: string, labels?: string): Promise<number>;
  /** Removes what was declared. */
  forget(): Promise<void>;
}

const honestModel = 'honest';
const honestChunks = 3;
const preload = new URL('./scripted-names.ts', import.meta.url).href;

/** Names that answers of many faults must not depend on: each declaration gets a model of its own. */
let declared = 0;

/** An environment with the names of the test, and with what `NODE_OPTIONS` says in `more`. */
function nodeOptions(namesFile: string, more: StandaloneOptions['env'] = {}): Record<string, string> {
  const flags = `--import=${preload} ${more['NODE_OPTIONS'] ?? ''}`;
  return { ...more, NODE_OPTIONS: flags, TEST_NAMES_FILE: namesFile };
}

/** Starts one, in standalone mode, with a healthy node for the honest callers. */
export async function startServed(options: StandaloneOptions = {}): Promise<Served> {
  const upstream = await startUpstream({ models: [honestModel], chunks: honestChunks });
  const [key, disabled, stranger, master] = [
    keyWithHash(),
    keyWithHash(),
    keyWithHash(),
    keyWithHash('master'),
  ];
  const own = options.folders === undefined;
  const folders = options.folders ?? (await newFolders());
  const still = { healthCheck: { mode: 'None' }, sync: { discovery: 'Never' } };
  const first = manifests(
    manifest('UpstreamNode', 'honest', { baseURL: upstream.url, manualModels: [honestModel], ...still }),
    manifest('APIKey', 'honest', { hash: key.hash }),
    manifest('APIKey', 'disabled', { hash: disabled.hash, enabled: false }),
    manifest('MasterKey', 'master', { hash: master.hash }),
  );
  await folders.write('honest.yaml', first);
  for (const [file, text] of Object.entries(options.manifests ?? {})) await folders.write(file, text);
  const namesFile = join(folders.root, 'names.json');
  let resolved: Names = {};
  await writeFile(namesFile, '{}');
  const withNames: StandaloneOptions = {
    ...options,
    folders,
    env: nodeOptions(namesFile, options.env),
  };
  let process = await startStandalone(withNames);
  const address = `127.0.0.1:${process.port}`;
  const { baseURL } = process;
  const honest = honestCaller({
    baseURL: () => baseURL,
    key: key.text,
    wrongKeys: [disabled.text, stranger.text, `${key.text.slice(0, -1)}!`, master.text],
    model: honestModel,
    chunks: honestChunks,
  });
  const made: { file: string; upstreams: ScriptedUpstream[] }[] = [];
  let settles = 0;

  const served: Served = {
    get process() {
      return process;
    },
    folders,
    honest,
    upstream,
    key: key.text,
    master: master.text,
    ask: (request) => ask(baseURL, { key: key.text, ...request }),
    caller: (text = key.text) => process.caller(text),
    async declare(wishes) {
      declared += 1;
      const model = `model-${declared}`;
      const file = `declared-${declared}.yaml`;
      const upstreams: ScriptedUpstream[] = [];
      made.push({ file, upstreams });
      const urls: string[] = [];
      for (const wish of wishes) {
        if (wish.baseURL === undefined) {
          const next = await startUpstream({ models: [model], chunks: honestChunks, ...wish.upstream });
          if (wish.behaviour !== undefined) next.respondWith('/chat/completions', wish.behaviour);
          upstreams.push(next);
        }
        urls.push(wish.baseURL ?? upstreams.at(-1)?.url ?? '');
      }
      const names = wishes.map((_, index) => `n${declared}-${index}`);
      const documents = wishes.map((wish, index) =>
        manifest('UpstreamNode', names[index] ?? '', {
          baseURL: urls[index]?.replace('PORT', String(upstreams[0]?.port)),
          manualModels: [model],
          priority: wish.priority ?? 90 - 10 * index,
          ...still,
          ...wish.spec,
        }),
      );
      await folders.write(file, manifests(...documents));
      await served.settled();
      return {
        model,
        upstreams,
        nodes: names.map((name) => `default/${name}`),
        chat: (stream = false, more = {}) => served.ask({ body: chatBody(model, stream), ...more }),
      };
    },
    async settled() {
      // A look at the folder that had begun before may see the last file and not the one before it; the next look sees all.
      for (const _round of [1, 2]) {
        settles += 1;
        const last = `settled-${settles}`;
        const spec = { baseURL: upstream.url, manualModels: [last], ...still };
        await folders.write('zz-settled.yaml', manifest('UpstreamNode', 'settled', spec));
        await process.until(
          'the manifests are in force',
          async () => (await served.ask({ path: `/models/${last}` })).status === 200,
          60_000,
        );
      }
    },
    async resolve(more) {
      resolved = { ...resolved, ...more };
      await writeFile(namesFile, JSON.stringify(resolved));
    },
    async restart(again = {}) {
      process = await startStandalone({
        ...withNames,
        ...again,
        flags: [...(options.flags ?? []), ...(again.flags ?? []), '--listen', address],
        env: nodeOptions(namesFile, { ...options.env, ...again.env }),
      });
    },
    async metric(name, labels = '') {
      const text = await (await fetch(`${process.admin}/metrics`)).text();
      const lines = text
        .split('\n')
        .filter(
          (line) => line.startsWith(name) && /[{ ]/.test(line[name.length] ?? '') && line.includes(labels),
        );
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    },
    async forget() {
      for (const { file, upstreams } of made.splice(0)) {
        await folders.remove(file).catch(() => undefined);
        await Promise.all(upstreams.map((each) => each.stop()));
      }
    },
    async [Symbol.asyncDispose]() {
      await honest.stop();
      await served.forget();
      await process[Symbol.asyncDispose]();
      await upstream.stop();
      if (own) await folders[Symbol.asyncDispose]();
    },
  };
  await eventually('honest callers are served', () => honest.good() > 0, 30_000);
  return served;
}
