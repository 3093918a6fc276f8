import { isObject, type JsonObject } from './json.ts';

// Reports members of a node's answer that no conversion reads, as labels of a metric. The labels are a closed set, because nodes
// invent names. This code runs for each chunk of a stream.

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
  'prompt_tokens_details',
  'completion_tokens_details',
  'prompt_cache_hit_tokens',
  'prompt_cache_miss_tokens',
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

/** Labels of content: an answer that has only this is not empty. */
const media: readonly string[] = ['images', 'audio', 'content'];

// Each chunk has a dozen of these names: a `switch` takes a third of the time of a Set.

/** Adds labels for what a whole reply or a chunk holds beside its choices. */
export function noteUnreadBody(body: JsonObject, unread: Set<string>): void {
  for (const key in body)
    switch (key) {
      // Carried, or written by the conversion itself; `obfuscation` is padding.
      case 'id':
      case 'object':
      case 'created':
      case 'model':
      case 'choices':
      case 'usage':
      case 'service_tier':
      case 'obfuscation':
      case 'error':
      case 'x_groq':
        break;
      default:
        noteOther(key, body[key], unread);
    }
}

/** Adds labels for what a choice and its message or delta hold and no format carries. */
export function noteUnreadChoice(choice: JsonObject, message: JsonObject, unread: Set<string>): void {
  for (const key in choice)
    switch (key) {
      case 'index':
      case 'delta':
      case 'message':
      case 'finish_reason':
      case 'stop_reason':
      case 'usage':
      case 'error':
        break;
      case 'logprobs':
        if (isObject(choice[key]) && says(choice[key]['refusal'])) unread.add('logprobs');
        break;
      default:
        noteOther(key, choice[key], unread);
    }
  for (const key in message) noteMember(key, message[key], unread);
}

function noteMember(key: string, value: unknown, unread: Set<string>): void {
  switch (key) {
    case 'content':
      if (Array.isArray(value)) for (const part of value) notePart(part, unread);
      return;
    case 'role':
    case 'refusal':
    case 'reasoning_content':
    case 'reasoning':
    case 'reasoning_details':
    case 'function_call':
    case 'extra_content':
      return;
    case 'tool_calls':
      if (Array.isArray(value)) for (const call of value) noteCall(call, unread);
      return;
    case 'annotations':
      if (Array.isArray(value)) for (const each of value) noteAnnotation(each, unread);
      return;
    case 'thinking_blocks':
      if (Array.isArray(value) && value.some(isRedacted)) unread.add('signature');
      return;
    default:
      noteOther(key, value, unread);
  }
}

/** Adds that the usage of an answer has counts that its converted form has not: audio, images, costs. */
export function noteUnreadUsage(usage: JsonObject | undefined, unread: Set<string>): void {
  if (usage === undefined) return;
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage;
  if (
    hasMore(usage, usageFields) ||
    (isObject(prompt) && hasMore(prompt, promptFields)) ||
    (isObject(completion) && hasMore(completion, completionFields))
  )
    unread.add('usage');
}

/** Whether pictures, audio or files are all that an answer without text, refusal and calls has. */
export function isMediaAlone(unread: ReadonlySet<string>): boolean {
  return media.some((label) => unread.has(label));
}

function noteOther(key: string, value: unknown, unread: Set<string>): void {
  if (says(value)) unread.add(labels.has(key) ? key : 'other');
}

function hasMore(owner: JsonObject, read: ReadonlySet<string>): boolean {
  for (const key in owner) if (!read.has(key) && says(owner[key])) return true;
  return false;
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

/** Signatures of calls outside `extra_content`: they could not be put back. */
function noteCall(call: unknown, unread: Set<string>): void {
  if (!isObject(call)) return;
  const { function: body } = call;
  if (hasMore(call, callFields) || (isObject(body) && hasMore(body, functionFields))) unread.add('signature');
}

/** Deeper than any member of a real answer: 100,000 levels would exhaust the stack. */
const deepest = 8;

/** Whether a value carries something: null, zero and what is empty do not. */
function says(value: unknown, depth = 0): boolean {
  if (!value) return false;
  if (typeof value !== 'object' || depth === deepest) return true;
  return Array.isArray(value)
    ? value.length > 0
    : Object.values(value).some((inner) => says(inner, depth + 1));
}
