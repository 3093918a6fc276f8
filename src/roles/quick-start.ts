import process from 'node:process';
import { prepareQuickStart, type QuickStart, welcome } from '../cli/quick-start.ts';
import { quickStartKey, shownKey } from '../cli/quick-start-key.ts';
import type { StartConfig } from '../config.ts';
import { sealingRecipient } from '../resources/sealed-key.ts';
import type { DirectoryStore } from '../store/folder/directory.ts';
import { makeFolder } from '../store/folder/make-folder.ts';
import { problemText } from '../store/folder/manifest-problems.ts';
import { StateFile } from '../store/folder/state-file.ts';
import type { Store } from '../store/store.ts';
import { aborted, version } from './process.ts';
import { runStandalone } from './standalone.ts';

/** How long the quick start waits for its key and a first model before it says how things stand. */
const waitMs = 10_000;
/** Most problems of manifests that the banner lists; the log has all. */
const mostProblems = 5;

/** Standalone mode on a folder made on the first run, with something that answers and a command to paste. */
export async function runQuickStart(config: StartConfig): Promise<void> {
  await refuseSecondStart(config.data);
  const quickStart = await prepareQuickStart({
    manifests: config.manifests,
    upstream: config.upstream,
    openAIKey: process.env['OPENAI_API_KEY'] || undefined,
  });
  const { manifests, data } = config;
  const { node, declareOpenAI } = quickStart;
  try {
    await runStandalone(config, async ({ store, baseURL, moved, console, signal }) => {
      const soon = () => AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
      const key = await eventually(store, soon(), () =>
        shownKey(store, store.manifestProblems(), Date.now(), signal),
      );
      if (declareOpenAI !== undefined) {
        const identity = await eventually(store, soon(), () => store.sealingIdentities()[0]);
        if (identity !== undefined) await declareOpenAI(await sealingRecipient(identity));
      }
      const inForce = node === undefined ? 'Now' : nodeInForce(store, node);
      const model =
        node === undefined || inForce === 'Never'
          ? undefined
          : (await eventually(store, soon(), () => firstModel(store, node.name)))?.model;
      const problems = store.manifestProblems().slice(0, mostProblems);
      const notices = [
        ...quickStart.notices,
        ...problems.map((problem) => `Not in force: ${problemText(problem)}.`),
      ];
      if (moved) {
        notices.unshift(
          `Port ${config.traffic.listen.port} is taken; another one is used. --listen HOST:PORT chooses it.`,
        );
      }
      if (config.traffic.tls !== undefined) {
        notices.push(
          'A certificate of a private authority needs `--cacert FILE` for curl and NODE_EXTRA_CA_CERTS=FILE for Node.js.',
        );
      }
      if (signal.aborted) return;
      process.stdout.write(
        welcome({ version, baseURL, key, manifests, data, console, node, inForce, model, notices }),
      );
    });
  } finally {
    await quickStart.close();
  }
}

/** Before anything is written: the manifests of one that runs hold the port of its demo. Throws StateFileError. */
async function refuseSecondStart(data: string): Promise<void> {
  await makeFolder(data, 0o700);
  StateFile.open(data).close();
}

/** What `find` gives, tried again at each change of the store; undefined when `signal` aborts first. */
async function eventually<T>(
  store: Store,
  signal: AbortSignal,
  find: () => T | undefined | Promise<T | undefined>,
): Promise<T | undefined> {
  while (!signal.aborted) {
    const changed = Promise.withResolvers<void>();
    const unsubscribe = store.subscribe(() => changed.resolve());
    const found = await find();
    if (found === undefined) await Promise.race([changed.promise, aborted(signal)]);
    unsubscribe();
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether what the node's manifest says is in force, or what it said before, or nothing of it. */
function nodeInForce(
  store: DirectoryStore,
  { name }: NonNullable<QuickStart['node']>,
): 'Now' | 'Before' | 'Never' {
  if (!store.manifestProblems().some(({ file }) => file === `${name}.yaml`)) return 'Now';
  return store.get('UpstreamNode', quickStartKey.namespace, name) === undefined ? 'Never' : 'Before';
}

/** The first model of a node that a chat can be tried with, by name; undefined while the node may still answer. */
function firstModel(store: Store, name: string): { readonly model: string | undefined } | undefined {
  const { models = [], phase } = store.get('UpstreamNode', quickStartKey.namespace, name)?.status ?? {};
  const enabled = models.filter((model) => model.enabled);
  const chat = enabled.find(({ name: model }) =>
    /gpt-\d|chat|instruct|llama|qwen|mistral|gemma/i.test(model),
  );
  const model = (chat ?? enabled[0])?.name;
  return model === undefined && phase !== 'error' && phase !== 'offline' ? undefined : { model };
}
