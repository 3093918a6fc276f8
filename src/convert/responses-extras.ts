import type { ChatRequest } from './chat-request.ts';
import type { Fields } from './fields.ts';
import type { ResponsesContext } from './responses-state.ts';

/** `user` and `safety_identifier` hold at most this many characters. */
const identifierLength = 64;

/** Fields that only OpenAI's own chat-completions takes; hints elsewhere (responses.md). */
export function convertExtras(request: Fields, context: ResponsesContext): Partial<ChatRequest> {
  return {
    user: identifier(request, 'user', context),
    safety_identifier: identifier(request, 'safety_identifier', context),
    prompt_cache_key: extra(request, 'prompt_cache_key', context),
    prompt_cache_retention: extra(request, 'prompt_cache_retention', context),
    service_tier: extra(request, 'service_tier', context),
    prompt_cache_options: cacheOptions(request, context),
  };
}

function identifier(request: Fields, field: string, context: ResponsesContext): string | undefined {
  const value = extra(request, field, context);
  if (value === undefined || value.length <= identifierLength) return value;
  context.dropped.hint(field);
  return undefined;
}

function extra(request: Fields, field: string, { dialect, dropped }: ResponsesContext): string | undefined {
  const value = request.text(field);
  if (value === undefined || dialect.openAIExtras) return value;
  dropped.hint(field);
  return undefined;
}

function cacheOptions(request: Fields, { dialect, dropped }: ResponsesContext): object | undefined {
  const value = request.whole('prompt_cache_options');
  if (value === undefined) return undefined;
  if (dialect.openAIExtras) return value;
  dropped.hint('prompt_cache_options');
  return undefined;
}
