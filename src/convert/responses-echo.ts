import type { Fields } from './fields.ts';
import { isObject, type JsonObject, listOf, objectOf } from './json.ts';
import { limits } from './limits.ts';

/**
 * The part of a response object that repeats the request, with the vendor's defaults: numbers may not be null, every
 * key is there (responses.md). As JSON text: it is written up to three times, most of it is defaults, and
 * `JSON.stringify` of an object with so many members took as long as all else of the reply's conversion.
 *
 * If it is too long, its long members have the vendor's defaults instead.
 */
export function echoJson(request: Fields, model: string): string {
  const named = `"model":${JSON.stringify(model)}`;
  if (!request.hasAny(repeatedNames)) return named + defaults;
  const all = named + echoOf(request, Number.POSITIVE_INFINITY);
  return all.length <= limits.echo ? all : named + echoOf(request, limits.echoedMember);
}

/** `most`: characters of the JSON of a member that is repeated. */
function echoOf(request: Pick<Fields, 'repeated'>, most: number): string {
  const written = (name: string, value: unknown, otherwise: string): string => {
    const json = value === undefined || value === null ? undefined : JSON.stringify(value);
    return json === undefined || json.length > most ? otherwise : `,"${name}":${json}`;
  };
  const member = (name: string, otherwise: string): string =>
    written(name, request.repeated(name), otherwise);
  const tools = request.repeated('tools');
  const text = request.repeated('text');
  const reasoning = request.repeated('reasoning');
  const user = request.repeated('user');
  return (
    ',"previous_response_id":null' +
    member('instructions', ',"instructions":null') +
    written('tools', tools === undefined ? undefined : listOf(tools).map(echoedTool), ',"tools":[]') +
    member('tool_choice', ',"tool_choice":"auto"') +
    // Overflow fails: nothing is cut off.
    ',"truncation":"disabled"' +
    member('parallel_tool_calls', ',"parallel_tool_calls":true') +
    written('text', text === undefined ? undefined : echoedText(objectOf(text)), plainText) +
    member('top_p', ',"top_p":1') +
    member('presence_penalty', ',"presence_penalty":0') +
    member('frequency_penalty', ',"frequency_penalty":0') +
    member('top_logprobs', ',"top_logprobs":0') +
    member('temperature', ',"temperature":1') +
    written(
      'reasoning',
      reasoning === undefined ? undefined : echoedReasoning(objectOf(reasoning)),
      noReasoning,
    ) +
    member('max_output_tokens', ',"max_output_tokens":null') +
    member('max_tool_calls', ',"max_tool_calls":null') +
    // Constant, because the gateway stores no response, even if the request asks for it.
    ',"store":false,"background":false' +
    member('metadata', ',"metadata":{}') +
    member('safety_identifier', ',"safety_identifier":null') +
    member('prompt_cache_key', ',"prompt_cache_key":null') +
    // No program is part of anything here.
    ',"access_programs":null' +
    written('user', typeof user === 'string' ? user : undefined, '')
  );
}

const plainText = ',"text":{"format":{"type":"text"}}';
const noReasoning = ',"reasoning":{"effort":null,"summary":null}';

/** `strict` as it is enforced: chat-completions enforces a schema only if the request asks for it. */
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

/** The members that are repeated, and what is written if a request has none of them. */
const repeatedNames = new Set<string>();
const defaults = echoOf({ repeated: (name) => void repeatedNames.add(name) }, Number.POSITIVE_INFINITY);
