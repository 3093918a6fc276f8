import type { KubeClient } from './client.ts';

/** Options of every call. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Limit of the whole call in milliseconds; default 10,000. */
  timeoutMs?: number | undefined;
  urgent?: boolean | undefined;
}

/** Options of writes that a person requested. */
export interface WriteCallOptions extends CallOptions {
  /** Dry run: the server validates and answers, but stores nothing. */
  dryRun?: boolean | undefined;
  fieldManager?: string | undefined;
  /** The server refuses unknown fields instead of dropping them. */
  strict?: boolean | undefined;
}

function writeQuery({ dryRun, fieldManager, strict, ...call }: WriteCallOptions) {
  const query = {
    dryRun: dryRun === true ? 'All' : undefined,
    fieldManager,
    fieldValidation: strict === true ? 'Strict' : undefined,
  };
  return { ...call, query };
}

/** Reads one object. */
export function getObject(client: KubeClient, path: string, options: CallOptions = {}): Promise<unknown> {
  return client.request({ ...options, method: 'GET', path });
}

/** Creates an object under a list's path; 409 `AlreadyExists` when there is one of that name. */
export function createObject(
  client: KubeClient,
  path: string,
  body: object,
  options: WriteCallOptions = {},
): Promise<unknown> {
  return client.request({ ...writeQuery(options), method: 'POST', path, body });
}

/** Replaces the whole object. With `metadata.resourceVersion` in it, 409 `Conflict` if the object has changed since. */
export function replaceObject(
  client: KubeClient,
  path: string,
  body: object,
  options: CallOptions = {},
): Promise<unknown> {
  return client.request({ ...options, method: 'PUT', path, body });
}

/**
 * Server-side apply: `body` holds every field that `fieldManager` owns; ownership of a field that is left out is given up.
 * Works for `/status` too. With `metadata.resourceVersion` in `body` the server answers 409 if the object was changed or replaced
 * since it was read. `metadata.uid` alone does so if the object was replaced, but not for the status of a custom resource.
 */
export function serverSideApply(
  client: KubeClient,
  path: string,
  body: object,
  options: WriteCallOptions & { fieldManager: string; force?: boolean | undefined },
): Promise<unknown> {
  const { force = false, ...others } = options;
  const { query, ...call } = writeQuery(others);
  return client.request({
    ...call,
    method: 'PATCH',
    path,
    query: { ...query, force },
    body,
    contentType: 'application/apply-patch+yaml',
  });
}

/** JSON merge patch (RFC 7386): null removes a field, a list is replaced whole. */
export function mergePatch(
  client: KubeClient,
  path: string,
  body: object,
  options: WriteCallOptions = {},
): Promise<unknown> {
  return client.request({
    ...writeQuery(options),
    method: 'PATCH',
    path,
    body,
    contentType: 'application/merge-patch+json',
  });
}

/** JSON patch (RFC 6902), all or nothing; a `test` that fails is a 422 `Invalid`. */
export function jsonPatch(
  client: KubeClient,
  path: string,
  body: readonly { readonly op: string; readonly path: string; readonly value?: unknown }[],
  options: WriteCallOptions = {},
): Promise<unknown> {
  return client.request({
    ...writeQuery(options),
    method: 'PATCH',
    path,
    body,
    contentType: 'application/json-patch+json',
  });
}

/** Deletes an object; 409 when it is not the one that the preconditions name. */
export function deleteObject(
  client: KubeClient,
  path: string,
  options: CallOptions & {
    uid?: string | undefined;
    resourceVersion?: string | undefined;
    dryRun?: boolean | undefined;
  } = {},
): Promise<unknown> {
  const { uid, resourceVersion, dryRun, ...call } = options;
  const preconditions = { uid, resourceVersion };
  // `dryRun` is in the body, because the server ignores options in the query of a DELETE with a body.
  const dry = dryRun === true ? { dryRun: ['All'] } : {};
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, ...dry };
  return client.request({ ...call, method: 'DELETE', path, body });
}
