import type { ChatUsage } from './chat-usage.ts';

/** Usage as Messages says it: input without what was read from or written to the cache. */
export function messagesUsage(usage: ChatUsage): object {
  const read = usage.cacheRead ?? 0;
  const written = usage.cacheWrite ?? 0;
  return {
    input_tokens: Math.max(0, usage.prompt - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: usage.completion,
    ...(usage.reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: usage.reasoning } }),
  };
}
