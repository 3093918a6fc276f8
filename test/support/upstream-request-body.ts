import type { ReceivedRequest } from './upstream-exchange.ts';

/** A JSON object as it came. */
export type JsonObject = { readonly [name: string]: unknown };

/** The request body as a JSON object, or undefined when it is none. */
export function jsonBody(request: ReceivedRequest): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(request.body.toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The `model` of a request body, or a stand-in. */
export function modelOf(body: JsonObject): string {
  return typeof body['model'] === 'string' ? body['model'] : 'unnamed';
}

/**
 * The name of the first tool that a request offers, in any of the three formats, unless the conversation already
 * holds a tool's result: then the standard answer is text.
 */
export function toolToCall(body: JsonObject): string | undefined {
  const tools = body['tools'];
  if (!Array.isArray(tools) || body['tool_choice'] === 'none') return undefined;
  if (/"tool_result"|"function_call_output"|"role":\s*"tool"/.test(JSON.stringify(body))) return undefined;
  const first: unknown = tools[0];
  if (!isObject(first)) return undefined;
  const holder = isObject(first['function']) ? first['function'] : first;
  return typeof holder['name'] === 'string' ? holder['name'] : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
