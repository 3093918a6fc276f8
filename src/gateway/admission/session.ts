import type { IncomingHttpHeaders } from 'node:http';
import type { Inspection } from './inspect.ts';

/** Headers that name a session, the first that is there counts: ours, Claude Code's, Codex CLI's. */
const sessionHeaders = ['x-model-gateway-session', 'x-claude-code-session-id', 'session_id'] as const;

/** How much of a session's name counts, in characters. */
const longestSession = 512;

/**
 * The name of the session that a request belongs to: a header's value, else `prompt_cache_key` of its body. It is a caller's text: it is
 * hashed, and never logged.
 */
export function sessionOf(
  headers: IncomingHttpHeaders,
  { promptCacheKey }: Pick<Inspection, 'promptCacheKey'>,
): string | undefined {
  for (const name of sessionHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return value.slice(0, longestSession);
  }
  return promptCacheKey?.slice(0, longestSession);
}
