import * as z from 'zod';
import { ApiError } from './api-error.ts';
import type { KubeClient } from './client.ts';
import type { Clock } from './clock.ts';
import { ListSplitter } from './list-splitter.ts';
import { parseObject } from './parse-object.ts';
import { streamUnlessSilent } from './silence.ts';

export interface ListRequest {
  path: string;
  query?: Record<string, string | undefined> | undefined;
  accept?: string | undefined;
  signal: AbortSignal;
}

export interface ListPage {
  items: unknown[];
  /** Version of the whole list, to watch from; the same on every page. */
  resourceVersion: string;
}

const PAGE = 500;

const TYPE = z.object({ apiVersion: z.string().optional(), kind: z.string().optional() });
const LIST = TYPE.extend({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
  // A Go slice without elements may be written as null.
  items: z.array(z.unknown()).nullable(),
});

/**
 * Lists a resource page by page (500 objects each), so that no answer is large and the event loop gets its turn between
 * them. Items are given `apiVersion` and `kind`, which the server leaves out of lists of built-in kinds.
 *
 * @throws ApiError; 410 `Expired` when the list took longer than the server keeps its version: begin anew
 */
export async function* listPages(client: KubeClient, request: ListRequest): AsyncGenerator<ListPage> {
  let next: string | undefined;
  do {
    const query = { ...request.query, limit: PAGE, continue: next };
    const answer = await client.request({ ...request, method: 'GET', query, timeoutMs: 30_000 });
    const list = readList(answer, request.path);
    mustGoOn(list.next, next, request.path);
    yield { items: list.items, resourceVersion: list.resourceVersion };
    next = list.next;
  } while (next);
}

/**
 * Lists a resource in one request, object by object as they come; `take` is called until this throws. The API server answers out
 * of its own memory, where pages would make it read from etcd: 100,000 keys cost it 5 s of its processor, in pages 38, as a
 * streaming list (KEP-3157) 9. A list that takes it longer than it gives a request (a minute by itself) it cuts off. Objects
 * have `apiVersion` and `kind`, as those of `listPages` do.
 *
 * @returns the version of the list, to watch from
 * @throws ApiError as `KubeClient.stream` does; `Silent` after 100 s without a byte; `InvalidResponse` for what is no list
 */
export async function listObjects(
  client: KubeClient,
  request: ListRequest & { dropsManagedFields: boolean },
  take: (object: unknown) => void,
  clock: Clock,
): Promise<string> {
  const { path, accept, signal } = request;
  let next: string | undefined;
  for (;;) {
    const splitter = new ListSplitter();
    let type: Type | undefined;
    const query = { ...request.query, continue: next };
    for await (const bytes of streamUnlessSilent(client, { path, query, accept, signal }, clock)) {
      for (const text of splitter.push(bytes)) {
        const object = parseObject(text, request.dropsManagedFields);
        if (object === undefined) throw notAList(path);
        // What was said before the objects: of custom resources not the kind, and they bring their own.
        type ??= typeOf(parseObject(splitter.head, false));
        take(typed(object, type));
      }
    }
    const list = readList(parseObject(splitter.frame, false), path);
    // A part of it, though nobody asked for parts: taken for the whole, it would close the keys that are missing.
    if (!list.next) return list.resourceVersion;
    mustGoOn(list.next, next, path);
    next = list.next;
  }
}

/** A list that goes on from where it just went on would be read until the memory is full. */
function mustGoOn(next: string | undefined, asked: string | undefined, path: string): void {
  if (!next || next !== asked) return;
  throw new ApiError(0, 'InvalidResponse', `the list of ${path} names the same page again`);
}

function readList(answer: unknown, path: string) {
  const { data } = LIST.safeParse(answer);
  if (data === undefined) throw notAList(path);
  const type = typeOf(data);
  return {
    items: (data.items ?? []).map((item) => typed(item, type)),
    resourceVersion: data.metadata.resourceVersion,
    next: data.metadata.continue,
  };
}

interface Type {
  readonly apiVersion: string | undefined;
  readonly kind: string | undefined;
}

/** The type of a list's objects. */
function typeOf(list: unknown): Type {
  const { apiVersion, kind } = TYPE.safeParse(list).data ?? {};
  return { apiVersion, kind: kind?.replace(/List$/, '') };
}

function typed(item: unknown, type: Type): unknown {
  const isTyped = typeof item !== 'object' || item === null || 'kind' in item;
  return isTyped ? item : { ...type, ...item };
}

function notAList(path: string): ApiError {
  return new ApiError(0, 'InvalidResponse', `the API server's answer to ${path} is not a list`);
}
