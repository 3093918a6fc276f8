import { isObject, type JsonObject, listOf } from './json.ts';

// What a node's answer holds and no conversion says, as labels of a metric: nodes invent names, so the labels are a
// closed set. Asked for each chunk of a stream.

/** Read, or said by us in our own way: identifiers, times, the model's name; `obfuscation` is padding. */
const bodyFields: ReadonlySet<string> = new Set([
  'choices',
  'usage',
  'service_tier',
  'error',
  'x_groq',
  'id',
  'object',
  'created',
  'model',
  'obfuscation',
]);
const choiceFields: ReadonlySet<string> = new Set([
  'index',
  'delta',
  'message',
  'finish_reason',
  'logprobs',
  'stop_reason',
  'usage',
  'error',
]);
const messageFields: ReadonlySet<string> = new Set([
  'role',
  'content',
  'refusal',
  'reasoning_content',
  'reasoning',
  'thinking_blocks',
  'reasoning_details',
  'tool_calls',
  'function_call',
  'annotations',
  'extra_content',
]);
const callFields: ReadonlySet<string> = new Set([
  'index',
  'id',
  'type',
  'function',
  'custom',
  'extra_content',
]);
const functionFields: ReadonlySet<string> = new Set(['name', 'arguments', 'input']);
const usageFields: ReadonlySet<string> = new Set([
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'prompt_cache_hit_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
]);
const promptFields: ReadonlySet<string> = new Set(['cached_tokens', 'cache_write_tokens']);
const completionFields: ReadonlySet<string> = new Set(['reasoning_tokens']);

/** What servers are known to add, under its own name. */
const labels: ReadonlySet<string> = new Set([
  'annotations',
  'audio',
  'citations',
  'content_filter_results',
  'context',
  'executed_tools',
  'images',
  'native_finish_reason',
  'prompt_filter_results',
  'prompt_logprobs',
  'provider',
  'provider_specific_fields',
  'related_questions',
  'search_results',
  'system_fingerprint',
  'timings',
  'token_ids',
]);

/** Labels of what is an answer to people: with it alone an answer is not empty. */
const media: readonly string[] = ['images', 'audio', 'content'];

/** Adds what a whole reply or a chunk says beside its choices. */
export function noteUnreadBody(body: JsonObject, unread: Set<string>): void {
  noteRest(body, bodyFields, unread);
}

/** Adds what a choice and its message or delta say that nobody reads. */
export function noteUnreadChoice(choice: JsonObject, message: JsonObject, unread: Set<string>): void {
  noteRest(choice, choiceFields, unread);
  noteRest(message, messageFields, unread);
  const { content, annotations, thinking_blocks: blocks, tool_calls: calls } = message;
  if (isObject(choice['logprobs']) && listOf(choice['logprobs']['refusal']).length > 0)
    unread.add('logprobs');
  if (Array.isArray(content)) for (const part of content) notePart(part, unread);
  if (Array.isArray(annotations)) for (const each of annotations) noteAnnotation(each, unread);
  if (Array.isArray(blocks) && blocks.some(isRedacted)) unread.add('signature');
  if (Array.isArray(calls)) for (const call of calls) noteCall(call, unread);
}

/** Adds that the usage of an answer has counts that its converted form has not: audio, images, costs. */
export function noteUnreadUsage(usage: JsonObject | undefined, unread: Set<string>): void {
  if (usage === undefined) return;
  const { prompt_tokens_details: prompt, completion_tokens_details: completion, ...counts } = usage;
  const rests = [hasMore(counts, usageFields)];
  if (isObject(prompt)) rests.push(hasMore(prompt, promptFields));
  if (isObject(completion)) rests.push(hasMore(completion, completionFields));
  if (rests.includes(true)) unread.add('usage');
}

/** Whether pictures, audio or files are all that an answer without text, refusal and calls has. */
export function isMediaAlone(unread: ReadonlySet<string>): boolean {
  return media.some((label) => unread.has(label));
}

function noteRest(owner: JsonObject, read: ReadonlySet<string>, unread: Set<string>): void {
  // Most of what is parsed here is read: no list of keys is made for it.
  for (const key in owner)
    if (!read.has(key) && says(owner[key])) unread.add(labels.has(key) ? key : 'other');
}

function hasMore(owner: JsonObject, read: ReadonlySet<string>): boolean {
  return Object.keys(owner).some((key) => !read.has(key) && says(owner[key]));
}

function notePart(part: unknown, unread: Set<string>): void {
  if (!isObject(part)) return;
  const { type, annotations } = part;
  const kind = typeof type === 'string' ? type : 'text';
  if (kind.includes('image')) unread.add('images');
  else if (kind.includes('audio')) unread.add('audio');
  else if (!readParts.has(kind)) unread.add(kind.includes('reference') ? 'annotations' : 'content');
  if (says(annotations)) unread.add('annotations');
}

const readParts: ReadonlySet<string> = new Set(['text', 'output_text', 'thinking', 'refusal']);

/** A source that is no web address, or of which we cannot say the quoted content. */
function noteAnnotation(annotation: unknown, unread: Set<string>): void {
  if (!isObject(annotation)) return;
  const { type, url_citation: citation } = annotation;
  if (type !== 'url_citation' || (isObject(citation) && says(citation['content']))) unread.add('annotations');
}

function isRedacted(block: unknown): boolean {
  return isObject(block) && block['type'] === 'redacted_thinking';
}

/** Signatures of calls elsewhere than in `extra_content`: nobody could put them back where they were. */
function noteCall(call: unknown, unread: Set<string>): void {
  if (!isObject(call)) return;
  const { function: body } = call;
  if (hasMore(call, callFields) || (isObject(body) && hasMore(body, functionFields))) unread.add('signature');
}

/** Deeper than any member of an answer: recursion must end, and 100,000 levels would exhaust the stack. */
const deepest = 8;

/** Nothing, zero and what is empty say nothing. */
function says(value: unknown, depth = 0): boolean {
  if (!value) return false;
  if (typeof value !== 'object' || depth === deepest) return true;
  return Array.isArray(value)
    ? value.length > 0
    : Object.values(value).some((inner) => says(inner, depth + 1));
}
