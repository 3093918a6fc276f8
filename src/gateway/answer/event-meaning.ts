import { readFinish } from '../../convert/finish-reason.ts';
import { isObject, type JsonObject, objectOf, parseJson } from '../../convert/json.ts';
import type { CallerFormat } from '../../routing/caller-format.ts';

/**
 * What one event of an answer means before the first content:
 * `nothing` (a comment or empty event), `lifecycle` (announces an answer, holds none of it), `content`,
 * `end` (the stream is over), `error` (the node failed).
 */
export type EventMeaning = 'nothing' | 'lifecycle' | 'content' | 'end' | 'error';

/** Judges one event of a stream in the caller's format.  */
export function eventMeaning(format: CallerFormat, name: string, data: string): EventMeaning {
  if (data.trim() === '') return 'nothing';
  if (data.trim() === '[DONE]') return 'end';
  const parsed = parseJson(data);
  const event = isObject(parsed) ? parsed : undefined;
  // In every format an event with an `error` ends the answer.
  if (event !== undefined && isError(event)) return 'error';
  if (format === 'messages')
    return event === undefined ? 'error' : messagesMeaning(text(event['type']) ?? name, event);
  if (format === 'responses')
    return event === undefined ? 'error' : responsesMeaning(text(event['type']) ?? name, event);
  // An event that is no JSON is passed on.
  if (event === undefined) return 'content';
  return name === 'error' ? 'error' : chatMeaning(event);
}

function isError(event: JsonObject): boolean {
  return isSet(event['error']) || event['object'] === 'error' || event['type'] === 'error';
}

/** Types of the events that end an answer. */
const lastWords: Readonly<Record<'messages' | 'responses', ReadonlySet<string>>> = {
  messages: new Set(['message_stop', 'error']),
  responses: new Set(['response.completed', 'response.incomplete', 'response.failed', 'error']),
};

/** Whether an event of this type ends its answer, in messages or responses. */
export function endsAnswer(format: CallerFormat, type: string): boolean {
  return (format === 'messages' || format === 'responses') && lastWords[format].has(type);
}

/** The type of an event: its member, else its name. */
export function typeOf(name: string, data: string): string {
  return text(objectOf(parseJson(data))['type']) ?? name;
}

function chatMeaning(event: JsonObject): EventMeaning {
  const choices = event['choices'];
  if (!Array.isArray(choices)) return 'content';
  const meanings = choices.map((choice: unknown) => choiceMeaning(objectOf(choice)));
  if (meanings.includes('error')) return 'error';
  return meanings.includes('content') ? 'content' : 'lifecycle';
}

function choiceMeaning(choice: JsonObject): EventMeaning {
  const finish = choice['finish_reason'];
  if (readFinish(finish) === 'failed' || isSet(choice['error'])) return 'error';
  if (isSet(finish) || isFilled(choice['text'])) return 'content';
  const delta = objectOf(choice['delta']);
  const filled = Object.entries(delta).some(([field, value]) => field !== 'role' && isFilled(value));
  return filled ? 'content' : 'lifecycle';
}

const quietBlocks = new Set(['text', 'thinking', 'tool_use']);

function messagesMeaning(type: string, event: JsonObject): EventMeaning {
  if (type === 'error') return 'error';
  if (type === 'message_start' || type === 'ping') return 'lifecycle';
  if (type !== 'content_block_start') return 'content';
  const block = objectOf(event['content_block']);
  const quiet =
    quietBlocks.has(text(block['type']) ?? '') && !isFilled(block['text']) && !isFilled(block['thinking']);
  return quiet ? 'lifecycle' : 'content';
}

const responsesLifecycle = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.content_part.added',
  'response.reasoning_summary_part.added',
]);
const quietItems = new Set(['message', 'reasoning', 'function_call', 'custom_tool_call']);

function responsesMeaning(type: string, event: JsonObject): EventMeaning {
  if (type === 'error' || type === 'response.failed') return 'error';
  if (responsesLifecycle.has(type)) return 'lifecycle';
  if (type !== 'response.output_item.added') return 'content';
  const item = objectOf(event['item']);
  return quietItems.has(text(item['type']) ?? '') ? 'lifecycle' : 'content';
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== '';
}

function isFilled(value: unknown): boolean {
  return isSet(value) && !(Array.isArray(value) && value.length === 0);
}
