import { randomBytes } from 'node:crypto';
import { generateKeyText, hashKeyText } from '../../src/resources/key-text.ts';
import type { Cluster } from './cluster.ts';

export type ResourceKind = 'UpstreamNode' | 'APIKey' | 'MasterKey';

/** An object as the API server answers it, as far as tests look into it. */
export interface Stored {
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    generation?: number;
    annotations?: Record<string, string>;
    ownerReferences?: Record<string, unknown>[];
    labels?: Record<string, string>;
  };
  spec: Record<string, unknown>;
  status?: {
    phase?: string;
    models?: { name: string; enabled: boolean; source: string }[];
    hashes?: { hash: string; hint: string; revision: number; expirationTime?: string }[];
    conditions?: {
      type: string;
      status: string;
      reason: string;
      message: string;
      observedGeneration?: number;
    }[];
    [field: string]: unknown;
  };
  data?: Record<string, string>;
}

/** The product's resources in one cluster, past kubectl. */
export interface Resources {
  create(
    kind: ResourceKind,
    namespace: string,
    name: string,
    spec: Record<string, unknown>,
    metadata?: Record<string, unknown>,
  ): Promise<Stored>;
  /** @throws when there is none */
  get(kind: ResourceKind, namespace: string, name: string): Promise<Stored>;
  /** A merge patch of the main resource. */
  patch(kind: ResourceKind, namespace: string, name: string, patch: Record<string, unknown>): Promise<Stored>;
  remove(kind: ResourceKind, namespace: string, name: string): Promise<void>;
  /** Creates a key with its text known from the start (`spec.hash`), and answers the text. */
  addKey(
    namespace: string,
    name: string,
    spec?: Record<string, unknown>,
    kind?: 'APIKey' | 'MasterKey',
  ): Promise<string>;
  /** Creates a Secret of `stringData`. */
  addSecret(namespace: string, name: string, stringData: Record<string, string>): Promise<Stored>;
  /** A Secret's entries as text; undefined when there is none. */
  secret(namespace: string, name: string): Promise<(Stored & { text: Record<string, string> }) | undefined>;
}

const plurals = { UpstreamNode: 'upstreamnodes', APIKey: 'apikeys', MasterKey: 'masterkeys' } as const;
const apiVersion = 'modelgateway.dev/v1alpha1';

export function resourcePathOf(kind: ResourceKind, namespace: string, name?: string): string {
  const list = `/apis/${apiVersion}/namespaces/${namespace}/${plurals[kind]}`;
  return name === undefined ? list : `${list}/${name}`;
}

export function resourcesOf({ client }: Pick<Cluster, 'client'>): Resources {
  const secretPath = (namespace: string, name = '') =>
    `/api/v1/namespaces/${namespace}/secrets${name && `/${name}`}`;
  const resources: Resources = {
    async create(kind, namespace, name, spec, metadata = {}) {
      const body = { apiVersion, kind, metadata: { ...metadata, name }, spec };
      return (await client.ask('POST', resourcePathOf(kind, namespace), { body })) as Stored;
    },
    async get(kind, namespace, name) {
      return (await client.ask('GET', resourcePathOf(kind, namespace, name))) as Stored;
    },
    async patch(kind, namespace, name, patch) {
      return (await client.ask('PATCH', resourcePathOf(kind, namespace, name), { body: patch })) as Stored;
    },
    async remove(kind, namespace, name) {
      await client.ask('DELETE', resourcePathOf(kind, namespace, name));
    },
    async addKey(namespace, name, spec = {}, kind = 'APIKey') {
      const text = generateKeyText(kind === 'APIKey' ? 'api' : 'master', randomBytes);
      await resources.create(kind, namespace, name, { hash: hashKeyText(text), ...spec });
      return text;
    },
    async addSecret(namespace, name, stringData) {
      const body = { metadata: { name }, stringData };
      return (await client.ask('POST', secretPath(namespace), { body })) as Stored;
    },
    async secret(namespace, name) {
      const { status, body } = await client.send('GET', secretPath(namespace, name));
      if (status !== 200) return undefined;
      const stored = body as Stored;
      const entries = Object.entries(stored.data ?? {});
      const text = Object.fromEntries(
        entries.map(([entry, value]) => [entry, Buffer.from(value, 'base64').toString('utf8')]),
      );
      return { ...stored, text };
    },
  };
  return resources;
}

/** `True`, `False`, `Unknown`, or undefined where the condition is absent, with its reason: `False SecretNotFound`. */
export function condition({ status }: Stored, type: string): string | undefined {
  const found = status?.conditions?.find((each) => each.type === type);
  return found === undefined ? undefined : `${found.status} ${found.reason}`;
}
