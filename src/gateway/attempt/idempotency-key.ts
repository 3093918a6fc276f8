import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** What identifies one API key among all clusters. */
export interface IdempotencyScope {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string | undefined;
}

/**
 * The `Idempotency-Key` that is sent to a node; undefined if the caller sent none. All callers share the node's credential. If
 * their texts were passed on, a caller could get the answer to the request of another caller who sent the same text.
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
  // An empty text is not passed on: all requests with it would count as the same request.
  if (text === '') return undefined;
  // JSON separates the parts, whatever characters they contain.
  return `mg-${hash('sha256', JSON.stringify([namespace, name, uid ?? null, text]), 'base64url')}`;
}
