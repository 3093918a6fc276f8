import { createHash } from 'node:crypto';
import { syncRequestAnnotation } from '../../resources/sync-request.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import type { Credentials, NodeEntry } from '../../store/store.ts';
import type { Contact, NodeMemory } from './memory.ts';

const longestRequest = 1_024;

/** Everything that a plan depends on. */
export interface Gathered {
  /** `namespace/name`. */
  readonly id: string;
  readonly node: UpstreamNode;
  readonly credentials: Credentials;
  /**
   * A digest of everything that decides how the node is reached, with the credential. The version of a Secret is no
   * replacement, because it also changes with the labels. Kept in memory only: a weak credential could be guessed from its digest.
   */
  readonly connectionKey: string;
  /** The version of the credential for `status.syncedWith`: of the Secrets, or of the sealed text. */
  readonly credentialVersion: string;
  readonly syncRequest: string | undefined;
  /** The contact that ended since the last plan, if it used the current connection. */
  readonly contact: Contact | undefined;
  readonly memory: NodeMemory;
  readonly nowMs: number;
}

/** Collects what is known of a node now. */
export function gather(
  entry: NodeEntry,
  memory: NodeMemory,
  contact: Contact | undefined,
  nowMs: number,
): Gathered {
  const { id, resource: node, credentials } = entry;
  const credentialVersion = credentialVersionOf(credentials);
  const connectionKey = connectionKeyOf(node, credentials);
  return {
    id,
    node,
    credentials,
    connectionKey,
    credentialVersion,
    syncRequest: node.metadata.annotations?.[syncRequestAnnotation]?.slice(0, longestRequest).toWellFormed(),
    contact: contact?.connectionKey === connectionKey ? contact : undefined,
    memory,
    nowMs,
  };
}

function connectionKeyOf({ metadata, spec }: UpstreamNode, credentials: Credentials): string {
  const found =
    credentials.state === 'Resolved'
      ? [credentials.connection.credential ?? null, credentials.connection.headers]
      : [];
  return digest(
    JSON.stringify([
      metadata.uid,
      spec.baseURL,
      spec.authentication,
      spec.headers ?? [],
      spec.tls ?? {},
      credentials.state,
      found,
    ]),
  );
}

const longestVersion = 253;

function credentialVersionOf(credentials: Credentials): string {
  const version = credentials.state === 'Resolved' ? credentials.secretResourceVersion : '';
  return version.length > longestVersion ? digest(version) : version;
}

/** A digest of 32 hexadecimal digits. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
