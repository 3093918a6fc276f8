import { randomBytes } from 'node:crypto';
import { generateKeyText, hashKeyText } from '../../src/resources/key-text.ts';
import type { Declared } from './ground.ts';
import { type ModelServers, serverCredential } from './model-servers.ts';

/** Models of the steady nodes, which speak chat alone. */
const chatModels = ['chat', 'slow', 'big', 'cut', 'broken', 'refused', 'far-1', 'far-2'];

const secret: Declared = { kind: 'Secret', name: 'soak', holds: { apiKey: serverCredential } };

function node(name: string, baseURL: string, holds: Readonly<Record<string, unknown>>): Declared {
  return {
    ...{ kind: 'UpstreamNode', name },
    holds: { baseURL, apiKeySecretRef: { name: 'soak' }, sync: { discovery: 'Never' }, ...holds },
  };
}

/** A node that a test adds and takes away again. */
export function extraNode(name: string, servers: ModelServers): Declared {
  return node(name, servers.steady[0].url, { manualModels: [name], healthCheck: { mode: 'None' } });
}

/**
 * The nodes of a soak. `turn` changes how the faulty ones are reached, which closes their circuits, and the steady ones'
 * shares, which must not be noticed.
 */
export function soakNodes(servers: ModelServers, turn: number): Declared[] {
  const [one, two, native] = servers.steady;
  const [bad, worse] = servers.faulty;
  const steady = (name: string, { url }: { url: string }) =>
    node(name, url, {
      manualModels: chatModels,
      models: [{ name: 'chat', aliases: ['chat-alias'] }],
      weight: 1 + ((turn * 37) % 100),
      displayName: `Turn ${turn}`,
      healthCheck: { intervalSeconds: 10 },
    });
  const reached = (url: string) => (turn % 2 === 0 ? url : url.replace(/\/v1$/, '/odd/v1'));
  const failing = (name: string, url: string, models: readonly string[]) =>
    node(name, reached(url), {
      ...{ manualModels: models, priority: 90, healthCheck: { mode: 'None' } },
      timeouts: { firstByteSeconds: 1, connectSeconds: 1 },
    });
  return [
    secret,
    steady('steady-a', one),
    steady('steady-b', two),
    node('native', native.url, {
      manualModels: ['native'],
      models: [{ name: 'native', aliases: ['native-alias'] }],
      nativeFormats: ['Responses', 'Messages', 'Completions'],
      displayName: `Turn ${turn}`,
    }),
    failing('bad', bad.url, ['far-1', 'far-2']),
    failing('worse', worse.url, ['far-2']),
    // Nothing listens there.
    failing('refusing', 'http://127.0.0.1:1/v1', ['far-1']),
  ];
}

export interface SoakKeys {
  readonly api: string;
  readonly master: string;
  readonly declared: readonly Declared[];
}

export function soakKeys(): SoakKeys {
  const api = newKey('soak');
  const master = generateKeyText('master', randomBytes);
  return {
    ...{ api: api.text, master },
    declared: [api.declared, { kind: 'MasterKey', name: 'soak', holds: { hash: hashKeyText(master) } }],
  };
}

/** A key with its text. */
export function newKey(name: string): { text: string; declared: Declared } {
  const text = generateKeyText('api', randomBytes);
  return { text, declared: { kind: 'APIKey', name, holds: { hash: hashKeyText(text) } } };
}
