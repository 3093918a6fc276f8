import type { KubeClient } from './client.ts';

/** What every call may be given besides its object. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Limit of the whole call in milliseconds; default 10,000. */
  timeoutMs?: number | undefined;
  urgent?: boolean | undefined;
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
  options: CallOptions = {},
): Promise<unknown> {
  return client.request({ ...options, method: 'POST', path, body });
}

/** Replaces an object whole; with `metadata.resourceVersion` in it, 409 `Conflict` when it has changed since. */
export function replaceObject(
  client: KubeClient,
  path: string,
  body: object,
  options: CallOptions = {},
): Promise<unknown> {
  return client.request({ ...options, method: 'PUT', path, body });
}

/**
 * Server-side apply: `body` holds every field that `fieldManager` owns, and a field left out is given up. Works for
 * `/status` too. Put `metadata.resourceVersion` in to be refused (409) when the object was changed or replaced meanwhile;
 * `metadata.uid` alone does so for the object itself, but not for the status of a custom resource.
 */
export function serverSideApply(
  client: KubeClient,
  path: string,
  body: object,
  options: CallOptions & { fieldManager: string; force?: boolean | undefined },
): Promise<unknown> {
  const { fieldManager, force = false, ...call } = options;
  const query = { fieldManager, force };
  return client.request({
    ...call,
    method: 'PATCH',
    path,
    query,
    body,
    contentType: 'application/apply-patch+yaml',
  });
}

/** JSON merge patch (RFC 7386): null removes a field, a list is replaced whole. */
export function mergePatch(
  client: KubeClient,
  path: string,
  body: object,
  options: CallOptions = {},
): Promise<unknown> {
  return client.request({
    ...options,
    method: 'PATCH',
    path,
    body,
    contentType: 'application/merge-patch+json',
  });
}

/** Deletes an object; 409 when it is not the one that the preconditions name. */
export function deleteObject(
  client: KubeClient,
  path: string,
  options: CallOptions & { uid?: string | undefined; resourceVersion?: string | undefined } = {},
): Promise<unknown> {
  const { uid, resourceVersion, ...call } = options;
  const preconditions = { uid, resourceVersion };
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
  return client.request({ ...call, method: 'DELETE', path, body });
}
