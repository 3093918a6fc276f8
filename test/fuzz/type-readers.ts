import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyEdits } from '../../src/cli/edit/apply-edits.ts';
import { DeclarationError } from '../../src/cli/edit/declarations.ts';
import { read } from '../../src/console/read.ts';
import { planWishes, wishesSchema } from '../../src/console/wishes.ts';
import { readChatBody } from '../../src/convert/chat-body.ts';
import { ConversionError } from '../../src/convert/conversion-error.ts';
import { type ConvertedFormat, convertedFormats } from '../../src/convert/converted-formats.ts';
import { resolveDialect } from '../../src/convert/dialect.ts';
import { readTokenizeReply } from '../../src/convert/messages-count.ts';
import { readReportedError, readUpstreamError } from '../../src/convert/upstream-error.ts';
import { UpstreamFault } from '../../src/convert/upstream-fault.ts';
import { inspect } from '../../src/gateway/admission/inspect.ts';
import { HeldStream } from '../../src/gateway/answer/held-stream.ts';
import { eventFault } from '../../src/gateway/answer/reported-error.ts';
import { readTokenUsage } from '../../src/gateway/answer/token-usage.ts';
import { LongTexts } from '../../src/gateway/conversion/long-texts.ts';
import { GatewayError } from '../../src/gateway/errors/errors.ts';
import { faultBody } from '../../src/gateway/errors/node-error.ts';
import { createKeysApi } from '../../src/gateway/keys/keys-api.ts';
import { ApiError, statusError } from '../../src/kube/api-error.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { systemClock } from '../../src/kube/clock.ts';
import { loadKubeconfig } from '../../src/kube/kubeconfig.ts';
import { heldSpec, readLease } from '../../src/kube/lease-record.ts';
import { listObjects } from '../../src/kube/list.ts';
import { watchEvents } from '../../src/kube/watch.ts';
import { parseResource, parseStored } from '../../src/resources/parse.ts';
import { NotYamlError, parseManifest } from '../../src/store/folder/parse-manifest.ts';
import { readRecord, storedStatus } from '../../src/store/folder/resource-record.ts';
import { splitDocuments } from '../../src/store/folder/split-documents.ts';
import { fromStoredText } from '../../src/store/folder/stored-text.ts';
import type { KeyEntry, Store } from '../../src/store/store.ts';
import { readModelNames } from '../../src/upstream/model-names.ts';
import { makeKey, makeMasterKey, makeNode } from '../unit/store/make.ts';
import {
  type AnswerFormat,
  sampleAnswers,
  sampleErrorBodies,
  sampleErrorEvents,
  sampleModelLists,
  sampleStreams,
  sampleTokenCounts,
} from './sample-answers.ts';
import {
  sampleKubeconfigs,
  sampleLeases,
  sampleLists,
  sampleRecords,
  sampleStatuses,
  sampleWatchEvents,
  sampleWishes,
} from './sample-cluster.ts';
import { sampleManifests } from './sample-manifests.ts';
import { sampleRequests } from './sample-requests.ts';

/** Code that reads what others wrote, in this process. */
export interface TypeReader {
  readonly name: string;
  /** Sound documents, whose members are confused one by one. */
  readonly documents: readonly unknown[];
  /** How much of the cases it gets. */
  readonly share: number;
  /** @throws when the text brings it to anything but a value or a documented error */
  read(text: string): void | Promise<void>;
}

const formats: readonly (readonly [ConvertedFormat, string])[] = [
  ['messages', '/v1/messages'],
  ['responses', '/v1/responses'],
  ['completions', '/v1/completions'],
  ['count_tokens', '/v1/messages/count_tokens'],
];

const options = {
  model: 'm',
  dialect: resolveDialect({ host: 'x.example', model: 'm' }),
  newId: (prefix: string) => `${prefix}1`,
  now: () => 0,
};

/** What `read` gives, or undefined where it throws an error of one of these kinds. */
function unless<T>(kinds: readonly (new (...args: never[]) => Error)[], run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (kinds.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const requests: TypeReader[] = formats.map(([format, path]) => ({
  name: `${format} requests, converted`,
  documents: sampleRequests[path] ?? [],
  share: 3,
  read(text) {
    const body = Buffer.from(text);
    const seen = unless([GatewayError], () => inspect(body, { restricted: false, maxDepth: 512 }));
    if (seen === undefined) return;
    const texts = new LongTexts();
    const value = texts.parse(body, format === 'count_tokens' ? { ...seen, longStrings: [] } : seen);
    const converted = unless([ConversionError], () =>
      convertedFormats[format].convert(value, { ...options, texts }),
    );
    for (const chat of converted?.chats ?? []) JSON.stringify(chat);
  },
}));

const replies: TypeReader[] = formats.slice(0, 3).map(([format, path]) => ({
  name: `chat answers, converted to ${format}`,
  documents: sampleAnswers.chat,
  share: 2,
  read(text) {
    const { reply } = convertedFormats[format].convert(sampleRequests[path]?.at(-1), options);
    unless([UpstreamFault], () => JSON.parse(reply([readChatBody(Buffer.from(text))]).json));
  },
}));

const chatEvents = [...sampleStreams.chat, ...sampleErrorEvents.chat].map(({ data }) => data);

const streams: TypeReader[] = formats.slice(0, 3).map(([format, path]) => ({
  name: `chat streams, converted to ${format}`,
  documents: chatEvents,
  share: 3,
  read(text) {
    const { stream } = convertedFormats[format].convert(sampleRequests[path]?.at(-1), options);
    const sound = sampleStreams.chat.map(({ data }) => `data: ${JSON.stringify(data)}\n\n`);
    // Before the sound events, among them, and behind them.
    const place = text.length % (sound.length + 1);
    sound.splice(place, 0, `data: ${text}\n\n`);
    const converting = stream(0, undefined);
    const events = [...converting.push(Buffer.from(sound.join(''))), ...converting.end()].join('');
    for (const line of events.split('\n')) {
      if (line.startsWith('data: ') && line !== 'data: [DONE]') JSON.parse(line.slice(6));
    }
  },
}));

const held: TypeReader[] = (Object.keys(sampleStreams) as AnswerFormat[]).map((format) => ({
  name: `events of ${format} streams, as they begin`,
  documents: [...sampleStreams[format], ...sampleErrorEvents[format]].map(({ data }) => data),
  share: 2,
  read(text) {
    const stream = new HeldStream(format, 256 * 1024);
    const sound = sampleStreams[format].slice(0, 1).map(({ data }) => `data: ${JSON.stringify(data)}\n\n`);
    const pieces = text.length % 2 === 0 ? [...sound, text] : [text];
    for (const piece of pieces)
      stream.take(Buffer.from(piece.startsWith('data') ? piece : `data: ${piece}\n\n`));
    if (stream.error !== undefined) eventFault(stream.error);
  },
}));

const answers: readonly TypeReader[] = [
  {
    name: 'usage in answers of any format',
    documents: Object.values(sampleAnswers).flat(),
    share: 1,
    read: (text) => void readTokenUsage(Buffer.from(text)),
  },
  {
    name: 'error bodies of nodes',
    documents: [...sampleErrorBodies, ...chatEvents],
    share: 2,
    read(text) {
      const fault = readUpstreamError(400, text);
      const reported = readReportedError(parsed(text));
      for (const each of [fault, ...(reported === undefined ? [] : [reported])]) {
        if (typeof each.status !== 'number') throw new Error(`the status is ${typeof each.status}`);
        for (const shape of ['openai', 'anthropic'] as const) faultBody(shape, each, 'req');
      }
    },
  },
  {
    name: 'model lists',
    documents: sampleModelLists,
    share: 1,
    read: (text) => void readModelNames(Buffer.from(text), 5_000),
  },
  {
    name: 'answers of /tokenize',
    documents: sampleTokenCounts,
    share: 0.3,
    read: (text) => void readTokenizeReply(parsed(text)),
  },
];

const master: KeyEntry = {
  resource: makeMasterKey({ hash: `sha256:${'0'.repeat(64)}` }),
  expiresAtMs: Number.POSITIVE_INFINITY,
  models: undefined,
};
const keys = createKeysApi({
  // What was asked for is what the store gives back; nothing else of it is called.
  store: {
    createKey: async (key) => ({ ...key, metadata: { ...key.metadata, uid: 'u' } }),
  } as Partial<Store> as Store,
  now: () => 0,
  randomBytes: (size) => new Uint8Array(size),
});
const signal = new AbortController().signal;

const callers: readonly TypeReader[] = [
  {
    name: 'request bodies, as they are passed through',
    documents: Object.values(sampleRequests).flat(),
    share: 2,
    read: (text) =>
      void unless([GatewayError], () => inspect(Buffer.from(text), { restricted: true, maxDepth: 512 })),
  },
  {
    name: 'bodies of /v1/keys',
    documents: sampleRequests['/v1/keys'] ?? [],
    share: 1,
    async read(text) {
      await keys.create(master, parsed(text), signal).catch((error: unknown) => {
        if (!(error instanceof GatewayError) || error.entry.status >= 500) throw error;
      });
    },
  },
  {
    name: 'wishes of the console',
    documents: sampleWishes,
    share: 1,
    async read(text) {
      const body = parsed(text);
      const asked = unless([DeclarationError], () =>
        read(wishesSchema, (body as { wishes?: unknown } | null)?.wishes),
      );
      if (asked === undefined) return;
      const ref = { kind: 'UpstreamNode', namespace: 'default', name: 'n' } as const;
      const declarations = undefined as never;
      const plan = { declarations, randomBytes: Buffer.alloc, now: () => 0, signal };
      const { edits } = await planWishes(asked, ref, { baseURL: undefined, node: undefined }, plan);
      parseResource(applyEdits({ kind: ref.kind, metadata: { name: 'n' }, spec: {} }, edits));
    },
  },
];

const manifests = sampleManifests.map((text) => JSON.parse(text) as object);
const withStatus = manifests.map((manifest) => {
  const { kind } = manifest as { kind: string };
  return kind === 'UpstreamNode' || kind === 'APIKey'
    ? { ...manifest, status: sampleStatuses[kind] }
    : manifest;
});
const node = makeNode({ manualModels: ['m'] });
const key = makeKey({ hash: `sha256:${'0'.repeat(64)}` });

const objects: readonly TypeReader[] = [
  {
    name: 'manifests',
    documents: manifests,
    share: 2,
    read: (text) =>
      void unless([NotYamlError], () => [...splitDocuments(text)].map((document) => parseManifest(document))),
  },
  {
    name: 'objects of the API server',
    documents: withStatus,
    share: 3,
    read(text) {
      const object = parsed(text);
      parseResource(object);
      parseStored(object);
    },
  },
  {
    name: 'records of the data folder',
    documents: sampleRecords,
    share: 1,
    read(text) {
      const status = readRecord(text)?.status;
      storedStatus(node, status);
      storedStatus(key, status);
    },
  },
  {
    name: 'keys and Secrets of the data folder',
    documents: withStatus.slice(1),
    share: 1,
    read(text) {
      fromStoredText('APIKey', text);
      fromStoredText('Secret', text);
    },
  },
];

/** A client whose first answer is this text; it is asked for another where that says that a list goes on. */
function answering(text: string, next = ''): KubeClient {
  const unused = () => Promise.reject(new Error('not asked for'));
  let calls = 0;
  return {
    request: unused,
    stream: async () =>
      (async function* () {
        calls += 1;
        yield Buffer.from(calls === 1 ? text : next);
      })(),
    namespace: () => 'default',
    place: () => ({ context: '', server: '' }),
    close: () => undefined,
  };
}

const lastPage = JSON.stringify({ metadata: { resourceVersion: '4' }, items: [] });
const folder = mkdtempSync(join(tmpdir(), 'model-gateway-fuzz-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const kubeconfig = join(folder, 'kubeconfig');

const cluster: readonly TypeReader[] = [
  {
    name: 'watch events',
    documents: sampleWatchEvents,
    share: 1,
    async read(text) {
      const lines = `${text}\n${JSON.stringify(sampleWatchEvents[0])}\n`;
      const request = { path: '/x', dropsManagedFields: true, signal };
      await only(ApiError, async () => {
        for await (const event of watchEvents(answering(lines), request, systemClock))
          parseStored(event.object);
      });
    },
  },
  {
    name: 'lists',
    documents: sampleLists,
    share: 1,
    async read(text) {
      const take = (object: unknown) => void parseStored(object);
      const request = { path: '/x', dropsManagedFields: true, signal };
      await only(ApiError, () => listObjects(answering(text, lastPage), request, take, systemClock));
    },
  },
  {
    name: 'errors of the API server',
    documents: sampleWatchEvents.slice(-1).map((event) => (event as { object: object }).object),
    share: 0.5,
    read: (text) => void statusError(undefined, parsed(text)),
  },
  {
    name: 'leases',
    documents: sampleLeases,
    share: 0.5,
    read(text) {
      const lease = unless([ApiError], () => readLease(parsed(text)));
      // Not written as JSON: whatever a write throws is an attempt that failed, and the election goes on.
      if (lease !== undefined) heldSpec(lease.spec, 'h', 15, new Date(0));
    },
  },
  {
    name: 'kubeconfigs',
    documents: sampleKubeconfigs,
    share: 0.3,
    async read(text) {
      writeFileSync(kubeconfig, text);
      try {
        const config = loadKubeconfig({ kubeconfig });
        if (typeof config.namespace !== 'string' || typeof config.server !== 'string')
          throw new TypeError('no text');
      } catch (error) {
        // The messages of ours begin so; others quote what must not be shown, or say nothing.
        if (!(error instanceof Error) || !/kubeconfig|no cluster configuration/.test(error.message))
          throw error;
      }
    },
  },
];

async function only(kind: typeof ApiError, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof kind)) throw error;
  }
}

/** Everything that reads what others wrote, in this process. */
export const typeReaders: readonly TypeReader[] = [
  ...[...requests, ...replies, ...streams, ...held, ...answers],
  ...[...callers, ...objects, ...cluster],
];
