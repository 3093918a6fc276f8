import { type Secret, secretValue } from '../../resources/secret.ts';
import type { Key } from './key.ts';

/** The annotation with the revision that the key in a Secret was issued for: it shows a rotation that a crash interrupted. */
const revisionAnnotation = 'modelgateway.dev/key-revision';
/** The annotation with the number of keys that `spec.rotation.every` has issued; part of the revision. */
const scheduledAnnotation = 'modelgateway.dev/key-scheduled-rotations';
/** The annotation with the name of the key that a Secret was made for. Unlike owner references, backups keep it. */
const keyAnnotation = 'modelgateway.dev/key';
const managedBy = { 'app.kubernetes.io/managed-by': 'model-gateway' };

/** What the Secret of a key must hold. */
export interface SecretContent {
  readonly text: string;
  /** Counts rotations: `spec.rotation.revision` and the scheduled ones. */
  readonly revision: number;
  /** How many of them were scheduled. */
  readonly scheduled: number;
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
      ownerReferences: [ownerReferenceTo(key)],
    },
    type: 'Opaque',
    data: entriesOf(content),
  };
}

/** What to apply to an owned Secret so that it has the required content. */
export function changedSecret(key: Key, { metadata }: Secret, content: SecretContent): Secret {
  const { name, uid, resourceVersion } = metadata;
  const made = newSecret(key, name, content);
  return { ...made, metadata: { ...made.metadata, uid, resourceVersion } };
}

/** The owner references of a Secret that a key takes up again: that of its former owner is replaced. */
export function ownersAfterAdoption(key: Key, { metadata }: Secret) {
  const others = (metadata.ownerReferences ?? []).filter(({ controller }) => controller !== true);
  return [...others, ownerReferenceTo(key)];
}

function ownerReferenceTo(key: Key) {
  return {
    apiVersion: key.apiVersion,
    kind: key.kind,
    name: key.metadata.name,
    uid: key.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
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

/** Who owns a Secret: this key, a deleted resource of the key's name (garbage collection will delete the Secret), another owner, or none. */
export function ownerOf(key: Key, secret: Secret): 'Own' | 'Former' | 'Foreign' | 'None' {
  const owner = secret.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return 'None';
  if (owner.kind !== key.kind || owner.name !== key.metadata.name) return 'Foreign';
  if (owner.apiVersion.split('/')[0] !== key.apiVersion.split('/')[0]) return 'Foreign';
  return owner.uid === key.metadata.uid ? 'Own' : 'Former';
}

/** Whether a Secret was made for a key of this name. Only such a Secret may be adopted. */
export function wasMadeFor(key: Key, secret: Secret): boolean {
  return secret.metadata.annotations?.[keyAnnotation] === key.metadata.name;
}

/** The key text in a Secret. */
export function textOf(secret: Secret): string | undefined {
  return secretValue(secret, 'apiKey');
}

/** The revision that the key in a Secret was issued for; undefined if the annotation is missing or unreadable. */
export function revisionOf(secret: Secret): number | undefined {
  return countIn(secret, revisionAnnotation);
}

/** How many scheduled rotations the revision of a Secret counts; undefined if the annotation is missing or unreadable. */
export function scheduledOf(secret: Secret): number | undefined {
  return countIn(secret, scheduledAnnotation);
}

function countIn({ metadata }: Secret, annotation: typeof revisionAnnotation | typeof scheduledAnnotation) {
  const text = metadata.annotations?.[annotation];
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

function metadataOf({ metadata, spec }: Key, { revision, scheduled }: SecretContent) {
  return {
    labels: { ...managedBy, ...spec.secretTemplate?.labels },
    annotations: {
      ...spec.secretTemplate?.annotations,
      [keyAnnotation]: metadata.name,
      [revisionAnnotation]: `${revision}`,
      ...(scheduled === 0 ? {} : { [scheduledAnnotation]: `${scheduled}` }),
    },
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
