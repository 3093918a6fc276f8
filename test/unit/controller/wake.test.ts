import { expect, test } from 'vitest';
import { Queue } from '../../../src/controller/queue.ts';
import { Waker } from '../../../src/controller/wake.ts';
import { fakeClock } from './fake-clock.ts';
import { memoryStore } from './memory-store.ts';
import { apiKeyOf, nodeOf, secretOf } from './resources.ts';

const hash = `sha256:${'a'.repeat(64)}`;

function setUp() {
  const memory = memoryStore();
  const added: string[] = [];
  const queueOf = (kind: string) => {
    const queue = new Queue(fakeClock(), {
      added: () => {},
      depth: () => {},
      retried: () => {},
      waited: () => {},
      worked: () => {},
    });
    const add = queue.add.bind(queue);
    queue.add = (key, urgency) => {
      added.push(`${kind} ${key} ${urgency}`);
      add(key, urgency);
    };
    return queue;
  };
  const queues = {
    UpstreamNode: queueOf('node'),
    APIKey: queueOf('key'),
    MasterKey: queueOf('master'),
    Sealing: queueOf('sealing'),
  };
  const waker = new Waker(memory.store, queues, 'home');
  const woken = () => added.splice(0);
  return { memory, waker, woken };
}

const signal = new AbortController().signal;

test('a status write wakes nobody; generation, annotation and deletion do', async () => {
  const { memory, waker, woken } = setUp();
  memory.apply(nodeOf('n'));
  waker.start();
  expect(woken()).toEqual(['sealing home/model-gateway-sealing Background', 'node home/n Background']);
  const node = memory.store.get('UpstreamNode', 'home', 'n');
  if (node === undefined) throw new Error('no node');
  await memory.store.writeStatus('UpstreamNode', node, { phase: 'ready' }, signal);
  memory.apply(nodeOf('n', {}, { labels: { a: 'b' } }));
  expect(woken()).toEqual([]);
  memory.apply(nodeOf('n', { weight: 3 }));
  expect(woken()).toEqual(['node home/n Urgent']);
  memory.apply(nodeOf('n', { weight: 3 }, { annotations: { 'modelgateway.dev/sync-requested-at': '1' } }));
  expect(woken()).toEqual(['node home/n Urgent']);
  memory.remove('UpstreamNode', 'home', 'n');
  expect(woken()).toEqual(['node home/n Urgent']);
});

test('a Secret wakes what depends on it: nodes that name it, keys that own it, the sealing pair', () => {
  const { memory, waker, woken } = setUp();
  memory.apply(nodeOf('n', { apiKeySecretRef: { name: 'cred' } }));
  memory.apply(apiKeyOf('k', { secretName: 's' }));
  waker.start();
  woken();
  memory.putSecret(secretOf('cred', { apiKey: 'a' }));
  expect(woken()).toEqual(['node home/n Urgent']);
  memory.putSecret(secretOf('s', { apiKey: 'a' }));
  expect(woken()).toEqual(['key home/k Urgent']);
  memory.putSecret(secretOf('other', { apiKey: 'a' }));
  expect(woken()).toEqual([]);
  memory.putSecret(secretOf('model-gateway-sealing', {}));
  expect(new Set(woken())).toEqual(new Set(['sealing home/model-gateway-sealing Urgent']));
});

test('keys whose allowlist a node begins or ceases to serve are woken, and no others', async () => {
  const { memory, waker, woken } = setUp();
  memory.apply(apiKeyOf('k', { hash, models: ['m'] }));
  memory.apply(apiKeyOf('all', { hash: `sha256:${'b'.repeat(64)}` }));
  memory.apply(apiKeyOf('x', { hash: `sha256:${'c'.repeat(64)}`, models: ['x'] }));
  waker.start();
  woken();
  memory.apply(nodeOf('n', { manualModels: ['m'] }));
  expect(woken()).toEqual(['node home/n Urgent', 'key home/k Background']);
  memory.apply(nodeOf('n', { manualModels: ['m'], weight: 2 }));
  expect(woken()).toEqual(['node home/n Urgent']);
  memory.apply(nodeOf('n', { manualModels: ['m'], weight: 2, callerNamespaces: { from: 'All' } }));
  expect(woken()).toEqual(['node home/n Urgent', 'key home/k Background']);
  memory.apply(nodeOf('n', { manualModels: ['x'], weight: 2, callerNamespaces: { from: 'All' } }));
  expect(woken().slice(1).sort()).toEqual(['key home/k Background', 'key home/x Background']);
  memory.apply(apiKeyOf('k', { hash, models: ['other'] }));
  woken();
  memory.apply(nodeOf('n', { manualModels: ['x', 'm'], weight: 2, callerNamespaces: { from: 'All' } }));
  expect(woken()).toEqual(['node home/n Urgent']);
});

test('when a claim of a hash comes or goes its rivals are woken', () => {
  const { memory, waker, woken } = setUp();
  memory.apply(apiKeyOf('a', { hash }));
  waker.start();
  woken();
  memory.apply(apiKeyOf('b', { hash }));
  expect(woken().sort()).toEqual(['key home/a Urgent', 'key home/b Urgent']);
  memory.remove('APIKey', 'home', 'a');
  expect(woken().sort()).toEqual(['key home/a Urgent', 'key home/b Urgent']);
});
