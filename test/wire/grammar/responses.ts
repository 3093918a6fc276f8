import { isDeepStrictEqual } from 'node:util';

// The grammar of a Responses event stream, written from the vendor's documentation and from what the official clients
// insist on, without a look at the converter. It shares no code with it.

type Json = Readonly<Record<string, unknown>>;

/** What a stream says, once it is known to be sound. */
export interface ResponsesTranscript {
  readonly types: readonly string[];
  readonly events: readonly Json[];
  /** The last event's response object. */
  readonly response: Json;
  /** Faults of the stream; empty where it is sound. */
  readonly problems: readonly string[];
}

const requiredKeys = [
  'id',
  'object',
  'created_at',
  'completed_at',
  'status',
  'incomplete_details',
  'model',
  'previous_response_id',
  'instructions',
  'output',
  'error',
  'tools',
  'tool_choice',
  'truncation',
  'parallel_tool_calls',
  'text',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'top_logprobs',
  'temperature',
  'reasoning',
  'usage',
  'max_output_tokens',
  'max_tool_calls',
  'store',
  'background',
  'service_tier',
  'metadata',
  'safety_identifier',
  'prompt_cache_key',
];
const numbers = [
  'created_at',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'top_logprobs',
  'temperature',
];
const prefixes: Readonly<Record<string, string>> = {
  message: 'msg_',
  reasoning: 'rs_',
  function_call: 'fc_',
  custom_tool_call: 'ctc_',
  tool_search_call: 'tsc_',
};
const terminals = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** Reads a whole stream and says what is wrong with it. */
export function readResponsesStream(text: string): ResponsesTranscript {
  const checker = new ResponsesGrammar();
  const events = parseEvents(text, checker.problems);
  for (const event of events) checker.take(event);
  checker.end();
  const response = object(events.at(-1)?.['response']);
  return {
    types: events.map((event) => String(event['type'])),
    events,
    response,
    problems: checker.problems,
  };
}

/** What is wrong with a response object, in a stream or alone; nothing where it is sound. */
export function responseProblems(response: Json): string[] {
  const problems: string[] = [];
  for (const key of requiredKeys) if (!(key in response)) problems.push(`response without ${key}`);
  for (const key of numbers) if (typeof response[key] !== 'number') problems.push(`${key} is no number`);
  if (response['object'] !== 'response') problems.push('object is not response');
  if (!String(response['id']).startsWith('resp_')) problems.push('id without prefix');
  const { status } = response;
  if ((status === 'completed') !== (typeof response['completed_at'] === 'number'))
    problems.push('completed_at does not fit the status');
  if ((status === 'incomplete') !== (response['incomplete_details'] !== null))
    problems.push('incomplete_details does not fit the status');
  if ((status === 'failed') !== (response['error'] !== null)) problems.push('error does not fit the status');
  if (status === 'failed' && typeof object(response['error'])['code'] !== 'string')
    problems.push('error without a code');
  if (status === 'completed' || status === 'incomplete')
    problems.push(...usageProblems(object(response['usage'])));
  else if (response['usage'] !== null) problems.push('usage of an unfinished response');
  const reasoning = object(response['reasoning']);
  if (!('effort' in reasoning) || !('summary' in reasoning)) problems.push('reasoning without its keys');
  if (!('type' in object(object(response['text'])['format']))) problems.push('text without format');
  return problems;
}

function usageProblems(usage: Json): string[] {
  const counts = [
    usage['input_tokens'],
    usage['output_tokens'],
    usage['total_tokens'],
    object(usage['input_tokens_details'])['cached_tokens'],
    object(usage['output_tokens_details'])['reasoning_tokens'],
  ];
  if (!counts.every((count) => Number.isInteger(count))) return ['usage without its counts'];
  const [input, output, total] = counts;
  return Number(input) + Number(output) === total ? [] : ['total_tokens is not the sum'];
}

/** One write per event: `event:`, `data:`, blank line; LF only; `[DONE]` last. */
function parseEvents(text: string, problems: string[]): Json[] {
  if (text.includes('\r')) problems.push('CR in the stream');
  if (!text.endsWith('\n\n')) problems.push('the last event does not end');
  const events: Json[] = [];
  let done = false;
  for (const block of text.split('\n\n')) {
    if (block === '') continue;
    if (done) problems.push('something after [DONE]');
    if (/^:[^\n]*$/.test(block)) continue;
    if (block === 'data: [DONE]') {
      done = true;
      continue;
    }
    const [, name, data] = /^event: ([\w.]+)\ndata: ([^\n]*)$/.exec(block) ?? [];
    const event = object(data === undefined ? undefined : JSON.parse(data));
    if (name === undefined || event['type'] !== name) problems.push(`no event: ${block.slice(0, 80)}`);
    else events.push(event);
  }
  if (!done) problems.push('no [DONE]');
  return events;
}

/** A part of a message, or the text of reasoning, while it is written. */
interface Part {
  readonly type: string;
  text: string;
  annotations: number;
  logprobs: number;
  textDone: boolean;
  done: boolean;
}

interface Item {
  readonly id: string;
  readonly type: string;
  readonly callId: unknown;
  readonly name: unknown;
  readonly namespace: unknown;
  readonly parts: Part[];
  /** Arguments or input, from deltas. */
  text: string;
  argumentsDone: boolean;
  /** The item as it was when done. */
  final: Json | undefined;
}

class ResponsesGrammar {
  readonly problems: string[] = [];
  readonly #items: Item[] = [];
  readonly #ids = new Set<string>();
  readonly #callIds = new Set<unknown>();
  #count = 0;
  #opening: Json | undefined;
  #failing = false;
  #over = false;

  take(event: Json): void {
    const type = String(event['type']);
    const say = (problem: string) => this.problems.push(`${this.#count} ${type}: ${problem}`);
    if (this.#over) say('after the terminal event');
    if (event['sequence_number'] !== this.#count) say(`sequence_number ${event['sequence_number']}`);
    this.#order(type, say);
    if ('response' in event) this.#lifecycle(type, object(event['response']), say);
    else if (type === 'error') this.#error(object(event['error']), say);
    else if (type === 'response.output_item.added') this.#added(event, say);
    else this.#inItem(type, event, say);
    this.#count += 1;
  }

  end(): void {
    if (!this.#over) this.problems.push('no terminal event');
  }

  #order(type: string, say: (problem: string) => void): void {
    const expected = ['response.created', 'response.in_progress'][this.#count];
    if (expected !== undefined && type !== expected) say(`expected ${expected}`);
    if (expected === undefined && /^response\.(?:created|in_progress)$/.test(type)) say('a second time');
    if (this.#failing && type !== 'response.failed') say('between error and response.failed');
  }

  #error(error: Json, say: (problem: string) => void): void {
    this.#failing = true;
    if (typeof error['message'] !== 'string' || typeof error['type'] !== 'string')
      say('without message or type');
    if (typeof error['code'] !== 'string' || error['param'] !== null) say('without code or param');
  }

  #lifecycle(type: string, response: Json, say: (problem: string) => void): void {
    for (const problem of responseProblems(response)) say(problem);
    if (type !== `response.${type === 'response.created' ? 'created' : String(response['status'])}`)
      say(`status ${String(response['status'])}`);
    this.#opening ??= response;
    for (const key of ['id', 'model', 'created_at'])
      if (response[key] !== this.#opening[key]) say(`${key} has changed`);
    if (!terminals.has(type)) {
      if (!isDeepStrictEqual(response['output'], [])) say('output before it begins');
      return;
    }
    this.#over = true;
    if ((type === 'response.failed') !== this.#failing) say('does not fit the events before');
    if (type !== 'response.failed') this.#finished(response, say);
  }

  #finished(response: Json, say: (problem: string) => void): void {
    const open = this.#items.filter((item) => item.final === undefined);
    if (open.length > 0) say(`open items: ${open.map((item) => item.id).join(' ')}`);
    const done = this.#items.map((item) => item.final);
    if (!isDeepStrictEqual(response['output'], done)) say('output is not what the items were');
    const cut = done.filter((item) => item?.['status'] === 'incomplete');
    if (response['status'] === 'completed' && cut.length > 0) say('completed with an incomplete item');
    if (response['status'] === 'incomplete' && done.length > 0 && done.at(-1)?.['status'] !== 'incomplete')
      say('incomplete, but the last item is not');
  }

  #added(event: Json, say: (problem: string) => void): void {
    const item = object(event['item']);
    const id = String(item['id']);
    const type = String(item['type']);
    if (event['output_index'] !== this.#items.length) say(`output_index ${event['output_index']}`);
    if (!id.startsWith(prefixes[type] ?? '?')) say(`id ${id} of a ${type}`);
    if (this.#ids.has(id)) say(`id ${id} again`);
    this.#ids.add(id);
    for (const open of this.#items)
      if (open.final === undefined && (open.type === 'message' || open.type === 'reasoning'))
        say(`while ${open.id} is open`);
    const search = type === 'tool_search_call';
    const isCall = type === 'function_call' || type === 'custom_tool_call' || search;
    const callId = item['call_id'];
    if (isCall && (typeof callId !== 'string' || !/^[\w-]{1,64}$/.test(callId) || this.#callIds.has(callId)))
      say(`call_id ${String(callId)}`);
    if (isCall) this.#callIds.add(callId);
    if (search && item['execution'] !== 'client') say(`execution ${String(item['execution'])}`);
    if (search && !isDeepStrictEqual(item['arguments'], {})) say('arguments before they begin');
    if (isCall && !search && (typeof item['name'] !== 'string' || item['name'] === ''))
      say('a call without a name');
    if (type !== 'custom_tool_call' && item['status'] !== 'in_progress')
      say(`status ${String(item['status'])}`);
    const empty = { message: item['content'], reasoning: item['summary'] }[type] ?? [];
    if (!isDeepStrictEqual(empty, [])) say('content before it begins');
    if (
      (type === 'function_call' && item['arguments'] !== '') ||
      (type === 'custom_tool_call' && item['input'] !== '')
    )
      say('arguments before they begin');
    const { name, namespace } = item;
    const state = { parts: [], text: '', argumentsDone: false, final: undefined };
    this.#items.push({ id, type, callId, name, namespace, ...state });
  }

  #inItem(type: string, event: Json, say: (problem: string) => void): void {
    const index = Number(event['output_index']);
    const item = this.#items[index];
    if (item === undefined) {
      say(`missing output at index ${index}`);
      return;
    }
    if (item.final !== undefined) say('the item is done');
    if (type === 'response.output_item.done') this.#done(item, object(event['item']), say);
    else {
      if (event['item_id'] !== item.id) say(`item_id ${String(event['item_id'])}, not ${item.id}`);
      if (/arguments|tool_call_input/.test(type)) this.#call(type, item, event, say);
      else this.#part(type, item, event, say);
    }
  }

  #call(type: string, item: Item, event: Json, say: (problem: string) => void): void {
    const custom = type.startsWith('response.custom_tool_call_input.');
    if (item.type !== (custom ? 'custom_tool_call' : 'function_call')) say(`in a ${item.type}`);
    if (item.argumentsDone) say('after the end of the arguments');
    if (type.endsWith('.delta')) {
      if (typeof event['delta'] !== 'string' || event['delta'] === '') say('without delta');
      item.text += String(event['delta']);
      return;
    }
    item.argumentsDone = true;
    if (event[custom ? 'input' : 'arguments'] !== item.text) say('not the sum of the deltas');
    if (!custom && event['name'] !== item.name) say(`name ${String(event['name'])}`);
  }

  #part(type: string, item: Item, event: Json, say: (problem: string) => void): void {
    const summary = type.startsWith('response.reasoning_summary_');
    const at = event[summary ? 'summary_index' : 'content_index'];
    if (/part\.added$/.test(type)) {
      if (at !== item.parts.length || item.parts.some((part) => !part.done)) say(`part ${String(at)}`);
      const part = object(event['part']);
      if (part['text'] !== '' && part['refusal'] !== '') say('text before it begins');
      const kind = String(part['type']);
      const fits =
        item.type === 'message'
          ? /^(?:output_text|refusal)$/
          : summary
            ? /^summary_text$/
            : /^reasoning_text$/;
      if (!fits.test(kind) || item.type === 'function_call') say(`part ${kind} in a ${item.type}`);
      item.parts.push({ type: kind, text: '', annotations: 0, logprobs: 0, textDone: false, done: false });
      return;
    }
    const part = item.parts[Number(at)];
    if (part === undefined) say(`missing content at index ${String(at)}`);
    else if (/part\.done$/.test(type)) this.#partDone(part, object(event['part']), say);
    else this.#text(type, part, event, say);
  }

  #partDone(part: Part, whole: Json, say: (problem: string) => void): void {
    if (!part.textDone || part.done) say('before its text is done');
    part.done = true;
    if (whole['type'] !== part.type) say(`part ${String(whole['type'])}`);
    if (whole[part.type === 'refusal' ? 'refusal' : 'text'] !== part.text) say('not the sum of the deltas');
    if (part.type !== 'output_text') return;
    if (list(whole['annotations']).length !== part.annotations) say('other annotations');
    if (list(whole['logprobs']).length !== part.logprobs) say('other logprobs');
  }

  #text(type: string, part: Part, event: Json, say: (problem: string) => void): void {
    const kinds: Readonly<Record<string, string>> = {
      'response.output_text': 'output_text',
      'response.output_text.annotation': 'output_text',
      'response.refusal': 'refusal',
      'response.reasoning_text': 'reasoning_text',
      'response.reasoning_summary_text': 'summary_text',
    };
    const kind = kinds[type.replace(/\.\w+$/, '')];
    if (kind !== part.type) say(`in a part ${part.type}`);
    if (part.textDone) say('after the end of the text');
    if (type === 'response.output_text.annotation.added') {
      if (event['annotation_index'] !== part.annotations) say('annotation_index');
      part.annotations += 1;
    } else if (type.endsWith('.delta')) {
      if (typeof event['delta'] !== 'string' || event['delta'] === '') say('without delta');
      if (kind === 'output_text' && !Array.isArray(event['logprobs'])) say('without logprobs');
      part.text += String(event['delta']);
      part.logprobs += list(event['logprobs']).length;
    } else if (type.endsWith('.done')) {
      part.textDone = true;
      if (event[kind === 'refusal' ? 'refusal' : 'text'] !== part.text) say('not the sum of the deltas');
    } else say('unknown');
  }

  #done(item: Item, whole: Json, say: (problem: string) => void): void {
    item.final = whole;
    for (const [key, value] of [
      ['id', item.id],
      ['type', item.type],
      ['call_id', item.callId],
      ['name', item.name],
      ['namespace', item.namespace],
    ] as const)
      if (whole[key] !== value) say(`${key} has changed to ${String(whole[key])}`);
    const { status } = whole;
    if (status !== 'completed' && status !== 'incomplete') say(`status ${String(status)}`);
    if (item.parts.some((part) => !part.done)) say('with an open part');
    if (item.type === 'function_call' && (whole['arguments'] !== item.text || !item.argumentsDone))
      say('arguments');
    if (item.type === 'custom_tool_call' && (whole['input'] !== item.text || !item.argumentsDone))
      say('input');
    if (item.type === 'tool_search_call' && typeof whole['arguments'] !== 'object') say('arguments');
    const said = [...list(whole['content']), ...list(whole['summary'])].map(object);
    const texts = said.map((part) => part['text'] ?? part['refusal']);
    const isText = item.type === 'message' || item.type === 'reasoning';
    if (
      isText &&
      (texts.length === 0 ||
        !isDeepStrictEqual(
          texts,
          item.parts.map((part) => part.text),
        ))
    )
      say('not the text of its parts');
  }
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
