import * as z from 'zod';
import { ApiError } from './api-error.ts';
import type { KubeClient } from './client.ts';

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

const LIST = z.object({
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
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
    yield { items: list.items, resourceVersion: list.resourceVersion };
    next = list.next;
  } while (next);
}

function readList(answer: unknown, path: string) {
  const { data } = LIST.safeParse(answer);
  if (data === undefined) {
    throw new ApiError(0, 'InvalidResponse', `the API server's answer to ${path} is not a list`);
  }
  const typed = { apiVersion: data.apiVersion, kind: data.kind?.replace(/List$/, '') };
  return {
    items: (data.items ?? []).map((item) =>
      typeof item === 'object' && item !== null ? { ...typed, ...item } : item,
    ),
    resourceVersion: data.metadata.resourceVersion,
    next: data.metadata.continue,
  };
}
