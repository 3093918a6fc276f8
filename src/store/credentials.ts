import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Reason } from '../resources/reasons.ts';
import { isCredential, maxCredentialLength } from '../resources/sealed-key.ts';
import { type Secret, secretValue } from '../resources/secret.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';
import type { UpstreamConnection } from '../upstream/connection.ts';
import type { Credentials } from './store.ts';

/** What the store knows about a Secret; undefined if it has not been read yet. */
export type KnownSecret = Secret | 'Missing' | 'Forbidden' | undefined;

/** The opened sealed credential of a node, or why it cannot be opened; undefined until it was tried. */
export type Unsealed =
  | { readonly apiKey: string }
  | { readonly reason: Reason; readonly message: string }
  | undefined;

/** The names of the Secrets that a node refers to. They are in the node's namespace. */
export function namedSecrets(node: UpstreamNode): ReadonlySet<string> {
  const names = new Set<string>();
  if (node.spec.apiKeySecretRef !== undefined) names.add(node.spec.apiKeySecretRef.name);
  for (const { secretRef } of node.spec.headers ?? []) {
    if (secretRef !== undefined) names.add(secretRef.name);
  }
  return names;
}

/**
 * Builds a node's connection from its spec, its Secrets and its opened sealed credential.
 *
 * `previous` is returned if nothing changed, because connection pools are found by its identity. A node whose credential is
 * not known is never `Resolved`, because no request may be sent without the credential that it should carry.
 */
export function resolveCredentials(
  node: UpstreamNode,
  secretOf: (name: string) => KnownSecret,
  unsealed: Unsealed,
  previous: Credentials | undefined,
): Credentials {
  const found = apiKeyOf(node, secretOf, unsealed);
  if (found === 'Pending') return { state: 'Pending' };
  if (found !== undefined && 'reason' in found) return refused(found);
  const headers: { name: string; value: string }[] = [];
  for (const [index, { name, value, secretRef }] of (node.spec.headers ?? []).entries()) {
    if (secretRef === undefined) {
      if (value !== undefined) headers.push({ name, value });
      continue;
    }
    const fromSecret = entryOf(
      secretOf(secretRef.name),
      node.metadata.namespace,
      secretRef,
      `spec.headers[${index}].secretRef`,
      checkedHeader,
    );
    if (fromSecret === 'Pending') return { state: 'Pending' };
    if ('reason' in fromSecret) return refused(fromSecret);
    headers.push({ name, value: fromSecret.value });
  }
  const connection = connectionOf(node, found?.value, headers);
  const old = previous?.state === 'Resolved' ? previous : undefined;
  const resolved: Credentials = {
    state: 'Resolved',
    connection:
      old !== undefined && isDeepStrictEqual(old.connection, connection) ? old.connection : connection,
    apiKeySet: found !== undefined,
    secretResourceVersion: versionsOf(node, secretOf),
  };
  return old !== undefined && isDeepStrictEqual(old, resolved) ? old : resolved;
}

type Found = { readonly value: string } | { readonly reason: Reason; readonly message: string } | 'Pending';

function refused({ reason, message }: { reason: Reason; message: string }): Credentials {
  return { state: 'Refused', reason, message };
}

function apiKeyOf(
  node: UpstreamNode,
  secretOf: (name: string) => KnownSecret,
  unsealed: Unsealed,
): Found | undefined {
  const { apiKeySecretRef, encryptedAPIKey } = node.spec;
  if (apiKeySecretRef !== undefined) {
    const secret = secretOf(apiKeySecretRef.name);
    return entryOf(secret, node.metadata.namespace, apiKeySecretRef, 'spec.apiKeySecretRef', checkedApiKey);
  }
  if (encryptedAPIKey === undefined) return undefined;
  if (unsealed === undefined) return 'Pending';
  if ('reason' in unsealed) return unsealed;
  return checkedApiKey(unsealed.apiKey, 'spec.encryptedAPIKey');
}

function entryOf(
  secret: KnownSecret,
  namespace: string,
  ref: { name: string; key: string },
  field: string,
  checked: (value: string, field: string) => Found,
): Found {
  if (secret === undefined) return 'Pending';
  if (secret === 'Missing') {
    return {
      reason: 'SecretNotFound',
      message: `${field} names the Secret "${ref.name}", which does not exist in this namespace; create it.`,
    };
  }
  if (secret === 'Forbidden') {
    return {
      reason: 'SecretForbidden',
      message: `${field} names the Secret "${ref.name}", which the service account may not read; grant it "get" on this Secret, or "get", "list" and "watch" on all, by a Role in namespace "${namespace}".`,
    };
  }
  const value = secretValue(secret, ref.key);
  if (value === undefined) {
    return {
      reason: 'SecretKeyMissing',
      message: `${field} names the entry "${ref.key}" of the Secret "${ref.name}", which is missing or empty; add it.`,
    };
  }
  return checked(value, field);
}

/** A line break in a header value would end the header; another control character would make each request fail. */
function checkedHeader(value: string, field: string): Found {
  if (value.length > maxCredentialLength) return tooLong(field);
  if (/^[!-~]([ -~]*[!-~])?$/.test(value)) return { value };
  return invalid(field, 'is empty or holds a character other than visible ASCII and blanks');
}

function checkedApiKey(value: string, field: string): Found {
  if (value.length > maxCredentialLength) return tooLong(field);
  if (isCredential(value)) return { value };
  return invalid(field, 'is empty or holds a character other than visible ASCII');
}

function tooLong(field: string): Found {
  return invalid(field, `is longer than ${maxCredentialLength} characters`);
}

function invalid(field: string, what: string): Found {
  return { reason: 'CredentialInvalid', message: `The value that ${field} leads to ${what}; replace it.` };
}

function connectionOf(
  { spec }: UpstreamNode,
  credential: string | undefined,
  headers: UpstreamConnection['headers'],
): UpstreamConnection {
  const { caBundle, serverName } = spec.tls ?? {};
  return {
    baseURL: spec.baseURL,
    authentication: spec.authentication,
    ...(credential === undefined ? {} : { credential }),
    headers,
    ...(caBundle === undefined && serverName === undefined
      ? {}
      : {
          tls: {
            ...(caBundle === undefined ? {} : { caBundle }),
            ...(serverName === undefined ? {} : { serverName }),
          },
        }),
    timeouts: spec.timeouts,
  };
}

/** Identifies the versions of the named Secrets and of the sealed text, without any of their content. */
function versionsOf(node: UpstreamNode, secretOf: (name: string) => KnownSecret): string {
  const versions: string[] = [];
  for (const name of namedSecrets(node)) {
    const secret = secretOf(name);
    if (typeof secret === 'object') versions.push(secret.metadata.resourceVersion ?? '');
  }
  const { encryptedAPIKey } = node.spec;
  if (encryptedAPIKey !== undefined) {
    versions.push(`sealed-${createHash('sha256').update(encryptedAPIKey).digest('hex').slice(0, 16)}`);
  }
  return versions.join(',');
}
