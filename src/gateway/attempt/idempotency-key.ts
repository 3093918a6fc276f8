import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** What identifies one API key among all clusters. */
export interface IdempotencyScope {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string | undefined;
}

/**
 * The `Idempotency-Key` that a node is sent; undefined if the caller sent none. All callers share the node's credential: if
 * their texts were passed on, a vendor would give the answer to one caller's request to another who sent the same text.
 *
 * It is a hash of the text and the API key's identity, so that it is the same in every gateway and after a restart. The
 * identity holds the uid: two clusters that share a credential often hold API keys of the same name.
 */
export function scopedIdempotencyKey(
  headers: IncomingHttpHeaders,
  { namespace, name, uid }: IdempotencyScope,
): string | undefined {
  const sent = headers['idempotency-key'];
  if (sent === undefined) return undefined;
  const text = String(sent);
  // All requests with an empty one would count as the same request.
  if (text === '') return undefined;
  // JSON separates the parts, whatever characters they contain.
  return `mg-${hash('sha256', JSON.stringify([namespace, name, uid ?? null, text]), 'base64url')}`;
}
