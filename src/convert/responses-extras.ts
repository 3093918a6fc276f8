import type { ChatRequest } from './chat-request.ts';
import type { JsonObject } from './json.ts';
import { limits } from './limits.ts';
import { asString, checkNesting, optionalObject, optionalString, pathOf } from './request-fields.ts';
import type { ResponsesContext } from './responses-state.ts';

/** `user` and `safety_identifier` hold at most this many characters. */
const identifierLength = 64;

/** Fields that only OpenAI's own chat-completions takes; hints elsewhere (responses.md). */
export function convertExtras(body: JsonObject, context: ResponsesContext): Partial<ChatRequest> {
  return {
    user: identifier(body, 'user', context),
    safety_identifier: identifier(body, 'safety_identifier', context),
    prompt_cache_key: extra(body, 'prompt_cache_key', context),
    prompt_cache_retention: extra(body, 'prompt_cache_retention', context),
    service_tier: extra(body, 'service_tier', context),
    prompt_cache_options: cacheOptions(body, context),
  };
}

/** `metadata` is repeated in the reply and goes no further: chat-completions takes it only for stored answers. */
export function checkMetadata(body: JsonObject): void {
  const metadata = optionalObject(body, 'metadata', '');
  if (metadata === undefined) return;
  for (const [key, value] of Object.entries(metadata)) asString(value, pathOf('metadata', key.slice(0, 64)));
}

function identifier(body: JsonObject, field: string, context: ResponsesContext): string | undefined {
  const value = extra(body, field, context);
  if (value === undefined || value.length <= identifierLength) return value;
  context.dropped.hint(field);
  return undefined;
}

function extra(body: JsonObject, field: string, { dialect, dropped }: ResponsesContext): string | undefined {
  const value = optionalString(body, field, '');
  if (value === undefined || dialect.openAIExtras) return value;
  dropped.hint(field);
  return undefined;
}

function cacheOptions(body: JsonObject, { dialect, dropped }: ResponsesContext): object | undefined {
  const value = optionalObject(body, 'prompt_cache_options', '');
  if (value === undefined) return undefined;
  checkNesting(value, 'prompt_cache_options', limits.nesting);
  if (dialect.openAIExtras) return value;
  dropped.hint('prompt_cache_options');
  return undefined;
}
