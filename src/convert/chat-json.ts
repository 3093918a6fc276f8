import { firstChoice } from './chat-reply.ts';
import { isObject, type JsonObject, listOf, objectOf, parseJson, parseJsonAsWritten } from './json.ts';

/** Members that are passed on as JSON: calls whose arguments are an object, and what the node signed. */
const passedOn = ['tool_calls', 'function_call', 'extra_content', 'reasoning_details'] as const;

/**
 * Parses an answer or a chunk; undefined if it is not JSON. What is passed on as JSON keeps the digits of its numbers
 * (written-numbers.ts): as a double, a large id in arguments would become another id. Everything else is parsed as usual.
 */
export function parseChat(text: string): unknown {
  const body = parseJson(text);
  if (!isObject(body)) return body;
  const choice = firstChoice(body);
  if (choice === undefined) return body;
  const slot = isObject(choice['delta']) ? 'delta' : 'message';
  const message = objectOf(choice[slot]);
  if (!passesOn(message)) return body;
  const index = listOf(body['choices']).indexOf(choice);
  const written = objectOf(listOf(objectOf(parseJsonAsWritten(text))['choices'])[index]);
  const kept = { ...message, ...passedOnOf(objectOf(written[slot])) };
  // Other choices are not read.
  return { ...body, choices: [{ ...choice, [slot]: kept }] };
}

/** Whether a message has members that are passed on as JSON. It runs for each chunk, and nearly none has. */
function passesOn(message: JsonObject): boolean {
  const { tool_calls: calls, function_call: legacy } = message;
  if (message['extra_content'] !== undefined || message['reasoning_details'] !== undefined) return true;
  if (isObject(legacy) && isObject(legacy['arguments'])) return true;
  return Array.isArray(calls) && calls.some(isPassedOn);
}

function isPassedOn(call: unknown): boolean {
  if (!isObject(call)) return false;
  return call['extra_content'] !== undefined || isObject(objectOf(call['function'])['arguments']);
}

function passedOnOf(message: JsonObject): JsonObject {
  return Object.fromEntries(
    passedOn.filter((key) => message[key] !== undefined).map((key) => [key, message[key]]),
  );
}
