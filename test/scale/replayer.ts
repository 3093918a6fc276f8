// A thread that plays an API server's part at a rate that no API server on two cores reaches: the lists and watches of a
// gateway, then changes of keys, and questions with each key that it switched off until it is refused.
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { keyChange } from './key-changes.ts';
import { askUntilRefused, type Refusals } from './refusals.ts';
import { keyWriter, type ReplayedObjects } from './replayed-objects.ts';

export interface ReplayerOptions {
  readonly objects: ReplayedObjects;
  /** Paths of the API server's own certificate and key, in PEM. */
  readonly certificate: { readonly cert: string; readonly key: string };
}

/** What is to be changed; the thread answers with a `ReplayReport`. Its first message is its URL. */
export interface ReplayOrder {
  /** The token of the gateway that is told of the changes. */
  readonly token: string;
  /** Base URL of the gateway, with `/v1`. */
  readonly gateway: string;
  readonly model: string;
  /** Keys that may be changed: those with numbers below this. */
  readonly keys: number;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface ReplayReport extends Refusals {
  readonly changes: number;
  readonly seconds: number;
}

/** Later than anything that was read. */
let version = 1_000_000_000;
const { objects, certificate } = workerData as ReplayerOptions;
const pair = { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) };
const writeKey = keyWriter(objects.key);
/** Watches on keys, each with the token of who watches. */
const watches = new Map<ServerResponse, string>();
const bookmarkMs = 30_000;
/** What a gateway reads. */
const plurals = ['upstreamnodes', 'apikeys', 'masterkeys', 'secrets'];

const server = createServer(pair, (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'https://replayer');
  const plural = pathname.split('/').at(-1) ?? '';
  if (request.method !== 'GET' || !plurals.includes(plural)) {
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end('{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}');
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
  if (searchParams.get('watch') === 'true') watch(response, plural, token);
  else list(response, plural).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => {
  parentPort?.postMessage(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
parentPort?.on('message', (order: ReplayOrder) => {
  void change(order).then((report) => parentPort?.postMessage(report));
});

async function list(response: ServerResponse, plural: string): Promise<void> {
  let before = '{"apiVersion":"modelgateway.dev/v1alpha1","items":[';
  for (const object of listed(plural)) {
    const isTaken = response.write(before + object);
    before = ',';
    if (!isTaken) await new Promise((resolve) => response.once('drain', resolve));
  }
  response.end(`${before === ',' ? '' : before}],"metadata":{"resourceVersion":"${version}"}}`);
}

function watch(response: ServerResponse, plural: string, token: string): void {
  response.flushHeaders();
  const bookmark = setInterval(
    () => response.write(event('BOOKMARK', `{"metadata":{"resourceVersion":"${version}"}}`)),
    bookmarkMs,
  );
  if (plural === 'apikeys') watches.set(response, token);
  response.once('close', () => {
    clearInterval(bookmark);
    watches.delete(response);
  });
}

function* listed(plural: string): Generator<string> {
  if (plural === 'upstreamnodes') yield* objects.nodes;
  if (plural !== 'apikeys') return;
  for (let index = 0; index < objects.keys; index += 1) yield writeKey(index, true, 1);
}

function event(type: string, object: string): string {
  return `{"type":"${type}","object":${object}}\n`;
}

async function change(order: ReplayOrder): Promise<ReplayReport> {
  const { keys, perSecond, seconds } = order;
  const refusals = askUntilRefused(order.gateway, order.model);
  const began = performance.now();
  let made = 0;
  for (let elapsed = 0; elapsed < seconds * 1000; elapsed = performance.now() - began) {
    for (; made < (elapsed / 1000) * perSecond; made += 1) {
      const { index, enabled } = keyChange(made, keys, perSecond);
      version += 1;
      // Each by itself, as the API server writes them.
      const text = event('MODIFIED', writeKey(index, enabled, version));
      for (const [watch, token] of watches) if (token === order.token) watch.write(text);
      if (!enabled) refusals.ask(index, performance.now());
    }
    await delay(1);
  }
  const took = (performance.now() - began) / 1000;
  return { ...(await refusals.end()), changes: made, seconds: took };
}
