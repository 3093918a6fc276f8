import { createHash } from 'node:crypto';
import { syncRequestAnnotation } from '../../resources/sync-request.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import type { Credentials, NodeEntry } from '../../store/store.ts';
import type { Contact, NodeMemory } from './memory.ts';

const longestRequest = 1_024;

/** Everything that a plan is made of. */
export interface Gathered {
  /** `namespace/name`. */
  readonly id: string;
  readonly node: UpstreamNode;
  readonly credentials: Credentials;
  /**
   * A digest that differs whenever what decides about reaching the node differs, the credential itself included: the
   * version of a Secret changes with its labels, too. For this process's memory alone, because from a digest one can
   * guess a weak credential.
   */
  readonly connectionKey: string;
  /** Stands for the credential in `status.syncedWith`: versions of the Secrets, or of the sealed text. */
  readonly credentialVersion: string;
  readonly syncRequest: string | undefined;
  /** A contact that ended since the last plan, if it was with the connection as it is now. */
  readonly contact: Contact | undefined;
  readonly memory: NodeMemory;
  readonly nowMs: number;
}

/** Puts together what is known of a node now. */
export function gather(
  entry: NodeEntry,
  memory: NodeMemory,
  contact: Contact | undefined,
  nowMs: number,
): Gathered {
  const { id, resource: node, credentials } = entry;
  const credentialVersion = credentialVersionOf(node, credentials);
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

function credentialVersionOf({ spec }: UpstreamNode, credentials: Credentials): string {
  const secrets = credentials.state === 'Resolved' ? credentials.secretResourceVersion : '';
  const sealed = spec.encryptedAPIKey === undefined ? '' : `sealed:${digest(spec.encryptedAPIKey)}`;
  const version = [secrets, sealed].filter((part) => part !== '').join(',');
  return version.length > longestVersion ? digest(version) : version;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
