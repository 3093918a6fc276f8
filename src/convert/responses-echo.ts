import { isObject, type JsonObject, listOf, objectOf } from './json.ts';

/**
 * The part of a response object that repeats the request, with the vendor's defaults: numbers may not be null, every
 * key is there (responses.md). The request has been checked; its values are shared, never changed.
 */
export type ResponsesEcho = ReturnType<typeof echoOf>;

/** What a response says of the request that it answers. */
export function echoOf(body: JsonObject, model: string) {
  const user = body['user'];
  return {
    model,
    previous_response_id: null,
    instructions: body['instructions'] ?? null,
    tools: listOf(body['tools']).map(echoedTool),
    tool_choice: body['tool_choice'] ?? 'auto',
    // Overflow fails: nothing is cut off.
    truncation: 'disabled',
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    text: echoedText(objectOf(body['text'])),
    top_p: body['top_p'] ?? 1,
    presence_penalty: body['presence_penalty'] ?? 0,
    frequency_penalty: body['frequency_penalty'] ?? 0,
    top_logprobs: body['top_logprobs'] ?? 0,
    temperature: body['temperature'] ?? 1,
    reasoning: echoedReasoning(objectOf(body['reasoning'])),
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: body['max_tool_calls'] ?? null,
    // Nothing is kept, whatever was asked for.
    store: false,
    background: false,
    metadata: body['metadata'] ?? {},
    safety_identifier: body['safety_identifier'] ?? null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    user: typeof user === 'string' ? user : undefined,
  };
}

/** `strict` is what is enforced: chat-completions only where it was asked for. */
function echoedTool(tool: unknown): unknown {
  if (!isObject(tool) || tool['type'] !== 'function') return tool;
  return {
    ...tool,
    description: tool['description'] ?? null,
    parameters: tool['parameters'] ?? null,
    strict: tool['strict'] === true,
  };
}

function echoedText(text: JsonObject): object {
  const format = objectOf(text['format'] ?? { type: 'text' });
  const echoed =
    format['type'] === 'json_schema'
      ? { ...format, description: format['description'] ?? null, strict: format['strict'] === true }
      : format;
  const verbosity = text['verbosity'];
  return { format: echoed, ...(typeof verbosity === 'string' ? { verbosity } : {}) };
}

function echoedReasoning(reasoning: JsonObject): object {
  return {
    effort: reasoning['effort'] ?? null,
    summary: reasoning['summary'] ?? reasoning['generate_summary'] ?? null,
  };
}
