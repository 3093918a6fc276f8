/** How many tokens a model takes and gives, as far as its server says. */
export interface Window {
  /** Prompt and answer together. */
  readonly contextTokens?: number;
  readonly outputTokens?: number;
}

/** A window of more tokens than this is taken for a mistake. */
const mostTokens = 100_000_000;

/**
 * Members of an entry of a model list that say which window a request has: of vLLM and SGLang, Anthropic, OpenRouter, and
 * this gateway (Groq has the same ones). llama.cpp says it in `meta.n_ctx`. Its `n_ctx_train`, which is what the model was
 * trained with, is not read: a server that was started with a smaller window refuses such a request.
 */
const contextMembers = ['max_model_len', 'max_input_tokens', 'context_length', 'context_window'];
const outputMembers = ['max_tokens', 'max_completion_tokens'];

/** The window that an entry of `GET /models` tells; undefined if it tells none. Values that are no token counts are left out. */
export function windowOf(entry: unknown): Window | undefined {
  const contextTokens = firstCount(entry, contextMembers) ?? firstCount(own(entry, 'meta'), ['n_ctx']);
  const listed = firstCount(entry, outputMembers) ?? firstCount(own(entry, 'top_provider'), outputMembers);
  // An answer longer than the window is a mistake of the server, or a member that means something else.
  const outputTokens = listed !== undefined && listed > (contextTokens ?? listed) ? undefined : listed;
  if (contextTokens === undefined && outputTokens === undefined) return undefined;
  return {
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
  };
}

function firstCount(value: unknown, members: readonly string[]): number | undefined {
  for (const member of members) {
    const count = own(value, member);
    if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= mostTokens)
      return count;
  }
  return undefined;
}

/** A member of a parsed JSON object; undefined for everything else. */
export function own(value: unknown, member: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return undefined;
  return (value as Record<string, unknown>)[member];
}
