import { type Secret, secretValue } from '../../resources/secret.ts';
import type { Key } from './key.ts';

/** The annotation with the `spec.rotation.revision` that the key in a Secret was issued for: it shows a rotation that a crash interrupted. */
const revisionAnnotation = 'modelgateway.dev/key-revision';
const managedBy = { 'app.kubernetes.io/managed-by': 'model-gateway' };

/** What the Secret of a key must hold. */
export interface SecretContent {
  readonly text: string;
  readonly revision: number;
  /** What callers use, with its version segment. */
  readonly gatewayURL: string;
}

/** The Secret to create for a key: entries that SDKs read (`envFrom`), owned by the key, so that it is deleted with the key. */
export function newSecret(key: Key, name: string, content: SecretContent): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: key.metadata.namespace,
      creationTimestamp: undefined,
      deletionTimestamp: undefined,
      ...metadataOf(key, content),
      ownerReferences: [
        {
          apiVersion: key.apiVersion,
          kind: key.kind,
          name: key.metadata.name,
          uid: key.metadata.uid ?? '',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    type: 'Opaque',
    data: entriesOf(content),
  };
}

/** An owned Secret with the required content. Entries that people added stay. */
export function changedSecret(key: Key, secret: Secret, content: SecretContent): Secret {
  const { labels, annotations } = metadataOf(key, content);
  return {
    ...secret,
    metadata: {
      ...secret.metadata,
      labels: { ...secret.metadata.labels, ...labels },
      annotations: { ...secret.metadata.annotations, ...annotations },
    },
    data: { ...secret.data, ...entriesOf(content) },
  };
}

/** Whether an owned Secret has the required content. */
export function isCurrent(key: Key, secret: Secret, content: SecretContent): boolean {
  const { labels, annotations } = metadataOf(key, content);
  return (
    holds(secret.data, entriesOf(content)) &&
    holds(secret.metadata.labels ?? {}, labels) &&
    holds(secret.metadata.annotations ?? {}, annotations)
  );
}

/** Who owns a Secret: this key, an earlier resource of its name (garbage collection will delete the Secret), or another owner. */
export function ownerOf(key: Key, secret: Secret): 'Own' | 'Former' | 'Foreign' {
  const owner = secret.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined || owner.kind !== key.kind || owner.name !== key.metadata.name) return 'Foreign';
  if (owner.apiVersion.split('/')[0] !== key.apiVersion.split('/')[0]) return 'Foreign';
  return owner.uid === key.metadata.uid ? 'Own' : 'Former';
}

/** The key text in a Secret. */
export function textOf(secret: Secret): string | undefined {
  return secretValue(secret, 'apiKey');
}

/** The revision that the key in a Secret was issued for; undefined if the annotation is missing or unreadable. */
export function revisionOf(secret: Secret): number | undefined {
  const text = secret.metadata.annotations?.[revisionAnnotation];
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

function metadataOf({ spec }: Key, { revision }: SecretContent) {
  return {
    labels: { ...managedBy, ...spec.secretTemplate?.labels },
    annotations: { ...spec.secretTemplate?.annotations, [revisionAnnotation]: `${revision}` },
  };
}

function entriesOf({ text, gatewayURL }: SecretContent): Record<string, string> {
  const entries = { apiKey: text, baseURL: gatewayURL, OPENAI_API_KEY: text, OPENAI_BASE_URL: gatewayURL };
  return Object.fromEntries(
    Object.entries(entries).map(([name, value]) => [name, Buffer.from(value, 'utf8').toString('base64')]),
  );
}

function holds(all: Record<string, string>, some: Record<string, string>): boolean {
  return Object.entries(some).every(([name, value]) => Object.hasOwn(all, name) && all[name] === value);
}
