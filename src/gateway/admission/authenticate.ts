import type { IncomingHttpHeaders } from 'node:http';
import { checkKeyText, hashKeyText, hasKeyLength } from '../../resources/key-text.ts';
import type { KeyEntry, View } from '../../store/store.ts';
import { GatewayError } from '../errors/errors.ts';

/**
 * The caller's key, from `Authorization: Bearer` or else `x-api-key`. If a client sends both, the first is used.
 * Only the SHA-256 of the text is looked up, so the time of a look-up reveals nothing about keys.
 * `nowMs` is in milliseconds since 1970. Throws GatewayError: 401, or 403 for a key of the other kind.
 */
export function authenticate(
  view: View,
  headers: IncomingHttpHeaders,
  wanted: 'APIKey' | 'MasterKey',
  nowMs: number,
): KeyEntry {
  const text = keyText(headers);
  if (text === undefined) {
    throw new GatewayError(
      'key_missing',
      'No API key was sent. Send it as "Authorization: Bearer <key>" or "x-api-key: <key>".',
    );
  }
  const entry = hasKeyLength(text) ? view.key(hashKeyText(text)) : undefined;
  if (entry === undefined) {
    // Checked only for an unknown key: a known one is correct.
    throw checkKeyText(text) === 'mistyped'
      ? new GatewayError(
          'key_mistyped',
          'This API key is mistyped or cut off: its check characters do not match.',
        )
      : new GatewayError('key_unknown', 'This API key is not valid.');
  }
  const { kind, metadata, spec } = entry.resource;
  if (metadata.deletionTimestamp !== undefined)
    throw new GatewayError('key_unknown', 'This API key is not valid.');
  if (!spec.enabled) throw new GatewayError('key_disabled', 'This API key is disabled.');
  if (nowMs >= entry.expiresAtMs) throw new GatewayError('key_expired', 'This API key has expired.');
  if (kind !== wanted) {
    throw new GatewayError(
      'key_wrong_kind',
      wanted === 'APIKey'
        ? 'A master key opens /v1/keys only; use an API key here.'
        : 'An API key does not open /v1/keys; use a master key.',
    );
  }
  return entry;
}

function keyText(headers: IncomingHttpHeaders): string | undefined {
  const { authorization } = headers;
  if (authorization !== undefined && isBearer(authorization)) {
    const text = authorization.slice('Bearer '.length).trim();
    if (text !== '') return text;
  }
  const apiKey = headers['x-api-key'];
  return typeof apiKey === 'string' && apiKey.trim() !== '' ? apiKey.trim() : undefined;
}

function isBearer(authorization: string): boolean {
  return authorization.startsWith('Bearer ') || /^bearer /i.test(authorization);
}
