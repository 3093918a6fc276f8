import type { Fields } from './fields.ts';
import { isObject, type JsonObject, listOf, objectOf } from './json.ts';

/**
 * The part of a response object that repeats the request, with the vendor's defaults: numbers may not be null, every
 * key is there (responses.md). As JSON text: it is written up to three times, most of it is defaults, and
 * `JSON.stringify` of an object with so many members took as long as all else of the reply's conversion.
 */
export function echoJson(request: Fields, model: string): string {
  const tools = request.repeated('tools');
  const text = request.repeated('text');
  const reasoning = request.repeated('reasoning');
  const user = request.repeated('user');
  return (
    `"model":${JSON.stringify(model)},"previous_response_id":null` +
    member(request, 'instructions', ',"instructions":null') +
    (tools === undefined ? ',"tools":[]' : `,"tools":${JSON.stringify(listOf(tools).map(echoedTool))}`) +
    member(request, 'tool_choice', ',"tool_choice":"auto"') +
    // Overflow fails: nothing is cut off.
    ',"truncation":"disabled"' +
    member(request, 'parallel_tool_calls', ',"parallel_tool_calls":true') +
    (text === undefined ? plainText : `,"text":${JSON.stringify(echoedText(objectOf(text)))}`) +
    member(request, 'top_p', ',"top_p":1') +
    member(request, 'presence_penalty', ',"presence_penalty":0') +
    member(request, 'frequency_penalty', ',"frequency_penalty":0') +
    member(request, 'top_logprobs', ',"top_logprobs":0') +
    member(request, 'temperature', ',"temperature":1') +
    (reasoning === undefined
      ? noReasoning
      : `,"reasoning":${JSON.stringify(echoedReasoning(objectOf(reasoning)))}`) +
    member(request, 'max_output_tokens', ',"max_output_tokens":null') +
    member(request, 'max_tool_calls', ',"max_tool_calls":null') +
    // Nothing is kept, whatever was asked for.
    ',"store":false,"background":false' +
    member(request, 'metadata', ',"metadata":{}') +
    member(request, 'safety_identifier', ',"safety_identifier":null') +
    member(request, 'prompt_cache_key', ',"prompt_cache_key":null') +
    // No program is part of anything here.
    ',"access_programs":null' +
    (typeof user === 'string' ? `,"user":${JSON.stringify(user)}` : '')
  );
}

const plainText = ',"text":{"format":{"type":"text"}}';
const noReasoning = ',"reasoning":{"effort":null,"summary":null}';

/** A member as the request has it; `otherwise` where it says nothing. */
function member(request: Fields, name: string, otherwise: string): string {
  const value = request.repeated(name);
  return value === undefined || value === null ? otherwise : `,"${name}":${JSON.stringify(value)}`;
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
