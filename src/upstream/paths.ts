/** The addresses of a model server that we use; `/v1/…` ones carry their own version segment, `/tokenize` has none. */
export type UpstreamPath =
  | '/models'
  | '/v1/models'
  | '/chat/completions'
  | '/completions'
  | '/embeddings'
  | '/rerank'
  | '/moderations'
  | '/images/generations'
  | '/images/edits'
  | '/audio/speech'
  | '/audio/transcriptions'
  | '/audio/translations'
  | '/v1/responses'
  | '/v1/messages'
  | '/v1/messages/count_tokens'
  | '/tokenize';

// v1, v2, v1.1, v1beta, v1beta1, v2-preview; not "vertex" or "v8engine".
const versionSegment = /\/v\d+(?:\.\d+)*(?:[.-]?(?:alpha|beta|preview|rc)\d*)?$/i;

/** `baseURL` with `/v1` added, if it has no version segment. Throws TypeError if it is not a URL. */
export function withVersion(baseURL: string): string | undefined {
  const { origin, pathname } = new URL(baseURL);
  const base = pathname.replace(/\/+$/, '');
  return versionSegment.test(base) ? undefined : `${origin}${base}/v1`;
}

/**
 * The address of a path on a model server. Unversioned paths are appended to `baseURL`. A `/v1/…` path replaces
 * a trailing version segment of `baseURL`, so that there is only one, and so does vLLM's `/tokenize`, which is a sibling of
 * its `/v1`.
 * Throws TypeError when `baseURL` is not a URL.
 */
export function upstreamURL(
  baseURL: string,
  path: UpstreamPath,
): { readonly origin: string; readonly path: string } {
  const url = new URL(baseURL);
  const base = url.pathname.replace(/\/+$/, '');
  return {
    origin: url.origin,
    path: (besideVersion(path) ? base.replace(versionSegment, '') : base) + path,
  };
}

function besideVersion(path: UpstreamPath): boolean {
  return path.startsWith('/v1/') || path === '/tokenize';
}
