import type { ChatUsage } from './chat-usage.ts';

/** Usage as Messages says it at the end of a stream, as JSON text. */
export function streamUsageJson(usage: ChatUsage): string {
  return `{${usageMembers(usage)}}`;
}

/** The usage of a whole message, and of one that begins. What chat-completions cannot say is null, as the types want it. */
export function messageUsageJson(usage: ChatUsage, serviceTier: string | undefined): string {
  const tier = messagesTier(serviceTier);
  return (
    `{${usageMembers(usage)},"cache_creation":null,"inference_geo":null` +
    `,"service_tier":${tier === undefined ? 'null' : `"${tier}"`},"speed":null}`
  );
}

/** In `input_tokens`, tokens that were read from or written to the cache do not count. */
function usageMembers({ prompt, cacheRead, cacheWrite, completion, reasoning }: ChatUsage): string {
  const read = cacheRead ?? 0;
  const written = cacheWrite ?? 0;
  return (
    `"input_tokens":${Math.max(0, prompt - read - written)}` +
    `,"cache_creation_input_tokens":${written},"cache_read_input_tokens":${read},"output_tokens":${completion}` +
    `,"output_tokens_details":${reasoning === undefined ? 'null' : `{"thinking_tokens":${reasoning}}`}` +
    `,"server_tool_use":null,"iterations":null,"fallback_credit":null`
  );
}

/** Whether a tier that a node names has no word in Messages. */
export function isTierLost(serviceTier: string | undefined): boolean {
  return serviceTier !== undefined && messagesTier(serviceTier) === undefined;
}

function messagesTier(serviceTier: string | undefined): 'standard' | 'priority' | undefined {
  if (serviceTier === 'default' || serviceTier === 'standard') return 'standard';
  return serviceTier === 'priority' ? 'priority' : undefined;
}
