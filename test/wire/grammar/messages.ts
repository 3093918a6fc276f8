// Anthropic's event stream as its documentation and SDKs demand it, written without a look at the code that makes it.

type Json = Record<string, unknown>;

/** A message as a client puts it together from the events. */
export interface ReadMessage {
  readonly id: string;
  readonly model: string;
  readonly content: Json[];
  readonly stopReason: string | null;
  readonly stopSequence: string | null;
  readonly usage: Json;
  /** The error that ended the stream, in place of a stop. */
  readonly error: Json | undefined;
  readonly pings: number;
}

interface Block {
  readonly start: Json;
  text: string;
  deltas: number;
  signed: boolean;
}

const deltaOf: Record<string, readonly string[]> = {
  text: ['text_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
};
const stopReasons = ['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal'];

/**
 * Checks a whole event stream and gives the message in it. Throws an Error that names the rule and the event's number.
 * `mayBeCut` admits a stream that ends with `event: error`; one that just ends is never right.
 */
export function readMessagesStream(
  stream: string,
  options: { readonly mayBeCut?: boolean } = {},
): ReadMessage {
  const events = splitEvents(stream);
  const reader = new Reader();
  for (const [number, event] of events.entries()) reader.take(event, number);
  return reader.end(options.mayBeCut ?? false);
}

function splitEvents(stream: string): Json[] {
  if (/[\r\u0085\u2028\u2029]/.test(stream)) throw new Error('lines end with LF alone');
  if (!stream.endsWith('\n\n')) throw new Error('the last event has no blank line');
  return stream
    .slice(0, -2)
    .split('\n\n')
    .map((text, number) => {
      const match = /^event: (\w+)\ndata: (\{.*\})$/.exec(text);
      if (match === null)
        throw new Error(`event ${number} is not "event:" and "data:", one line each: ${text.slice(0, 200)}`);
      const data = JSON.parse(match[2] ?? '') as Json;
      if (data['type'] !== match[1])
        throw new Error(`event ${number}: name ${match[1]} is not type ${String(data['type'])}`);
      return data;
    });
}

class Reader {
  #message: Json | undefined;
  #open: Block | undefined;
  #content: Json[] = [];
  #cutInputs = 0;
  #delta: Json | undefined;
  #usage: Json = {};
  #error: Json | undefined;
  #stopped = false;
  #pings = 0;
  #ids = new Set<unknown>();

  take(event: Json, number: number): void {
    const fail = (rule: string): never => {
      throw new Error(`event ${number} (${String(event['type'])}): ${rule}`);
    };
    if (this.#stopped) fail('comes after the end');
    const type = event['type'];
    if (type === 'error') this.#takeError(event, fail);
    else if (type === 'message_start') this.#start(event, fail);
    else if (this.#message === undefined) fail('comes before message_start');
    else if (type === 'ping') this.#pings += 1;
    else if (type === 'content_block_start') this.#startBlock(event, fail);
    else if (type === 'content_block_delta') this.#blockDelta(event, fail);
    else if (type === 'content_block_stop') this.#stopBlock(event, fail);
    else if (type === 'message_delta') this.#messageDelta(event, fail);
    else if (type === 'message_stop') {
      if (this.#delta === undefined) fail('comes without message_delta');
      this.#stopped = true;
    } else fail('is no event of this API');
  }

  end(mayBeCut: boolean): ReadMessage {
    if (!this.#stopped) throw new Error('the stream ends without message_stop or error');
    if (this.#error !== undefined && !mayBeCut)
      throw new Error(`the stream ends with an error: ${JSON.stringify(this.#error)}`);
    const stopReason = (this.#delta?.['stop_reason'] ?? null) as string | null;
    const usedTool = this.#content.some((block) => block['type'] === 'tool_use');
    if (this.#error === undefined) {
      if (usedTool && !['tool_use', 'max_tokens', 'refusal'].includes(stopReason ?? ''))
        throw new Error(`a tool was used, yet stop_reason is ${stopReason}`);
      if (!usedTool && stopReason === 'tool_use') throw new Error('stop_reason is tool_use without a tool');
      if (this.#cutInputs > 0 && stopReason !== 'max_tokens' && stopReason !== 'refusal')
        throw new Error('a tool input is no JSON');
    }
    return {
      id: String(this.#message?.['id'] ?? ''),
      model: String(this.#message?.['model'] ?? ''),
      content: this.#content,
      stopReason,
      stopSequence: (this.#delta?.['stop_sequence'] ?? null) as string | null,
      usage: this.#usage,
      error: this.#error,
      pings: this.#pings,
    };
  }

  #takeError(event: Json, fail: (rule: string) => never): void {
    const error = event['error'] as Json | undefined;
    if (
      typeof error?.['type'] !== 'string' ||
      typeof error['message'] !== 'string' ||
      error['message'] === ''
    )
      fail('error needs type and message');
    if (this.#delta !== undefined) fail('comes after message_delta');
    this.#error = error;
    this.#stopped = true;
  }

  #start(event: Json, fail: (rule: string) => never): void {
    if (this.#message !== undefined) fail('comes twice');
    const message = event['message'] as Json;
    if (!/^msg_[A-Za-z0-9]+$/.test(String(message['id'])))
      fail(`id ${String(message['id'])} has no msg_ prefix`);
    if (
      message['type'] !== 'message' ||
      message['role'] !== 'assistant' ||
      typeof message['model'] !== 'string'
    )
      fail('needs type, role and model');
    if (!Array.isArray(message['content']) || message['content'].length !== 0)
      fail('content must be an empty list');
    if (message['stop_reason'] !== null || message['stop_sequence'] !== null)
      fail('stop_reason and stop_sequence must be null');
    checkUsage(message['usage'], fail);
    this.#message = message;
  }

  #startBlock(event: Json, fail: (rule: string) => never): void {
    if (this.#open !== undefined) fail('another block is open');
    if (this.#delta !== undefined) fail('comes after message_delta');
    if (event['index'] !== this.#content.length)
      fail(`index ${String(event['index'])} should be ${this.#content.length}`);
    const start = event['content_block'] as Json;
    if (start['type'] === 'text' && start['text'] !== '') fail('text starts empty');
    if (start['type'] === 'thinking' && (start['thinking'] !== '' || start['signature'] !== ''))
      fail('thinking starts empty, signature too');
    if (start['type'] === 'tool_use') this.#checkTool(start, fail);
    if (deltaOf[String(start['type'])] === undefined) fail(`block type ${String(start['type'])} is unknown`);
    this.#open = { start, text: '', deltas: 0, signed: false };
  }

  #checkTool(start: Json, fail: (rule: string) => never): void {
    if (!/^[a-zA-Z0-9_-]+$/.test(String(start['id']))) fail(`tool id ${String(start['id'])} is not allowed`);
    if (this.#ids.has(start['id'])) fail('tool id is used twice');
    this.#ids.add(start['id']);
    if (typeof start['name'] !== 'string' || start['name'] === '') fail('tool has no name');
    if (JSON.stringify(start['input']) !== '{}') fail('input starts as {}');
  }

  #blockDelta(event: Json, fail: (rule: string) => never): void {
    const open = this.#open;
    if (open === undefined) fail('no block is open');
    if (event['index'] !== this.#content.length) fail('has the index of another block');
    const delta = event['delta'] as Json;
    const type = String(delta['type']);
    if (!deltaOf[String(open.start['type'])]?.includes(type)) fail(`${type} does not fit the block`);
    if (open.signed) fail('comes after the signature');
    const piece = delta['text'] ?? delta['thinking'] ?? delta['signature'] ?? delta['partial_json'];
    if (typeof piece !== 'string' || (piece === '' && type !== 'signature_delta')) fail('is empty');
    if (type === 'signature_delta') {
      open.signed = true;
      open.start['signature'] = piece;
    } else open.text += piece;
    open.deltas += 1;
  }

  #stopBlock(event: Json, fail: (rule: string) => never): void {
    const open = this.#open;
    if (open === undefined) fail('no block is open');
    if (event['index'] !== this.#content.length) fail('has the index of another block');
    const type = open.start['type'];
    if (type === 'thinking' && !open.signed) fail('thinking ends without a signature');
    if (type !== 'tool_use' && open.text.trim() === '') fail(`${String(type)} block is empty`);
    const value = type === 'tool_use' ? { input: this.#input(open.text) } : { [String(type)]: open.text };
    this.#content.push({ ...open.start, ...value });
    this.#open = undefined;
  }

  #input(text: string): unknown {
    if (text === '') return {};
    try {
      const input = JSON.parse(text) as unknown;
      if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input;
    } catch {
      // Counted below: allowed only where the answer was cut.
    }
    this.#cutInputs += 1;
    return {};
  }

  #messageDelta(event: Json, fail: (rule: string) => never): void {
    if (this.#open !== undefined) fail('a block is still open');
    if (this.#delta !== undefined) fail('comes twice');
    const delta = event['delta'] as Json;
    if (!stopReasons.includes(String(delta['stop_reason'])))
      fail(`stop_reason ${String(delta['stop_reason'])} is unknown`);
    if ((delta['stop_sequence'] === null) === (delta['stop_reason'] === 'stop_sequence'))
      fail('stop_sequence does not fit stop_reason');
    this.#usage = checkUsage(event['usage'], fail);
    this.#delta = delta;
  }
}

function checkUsage(value: unknown, fail: (rule: string) => never): Json {
  const usage = value as Json | undefined;
  for (const field of ['input_tokens', 'output_tokens'])
    if (!Number.isInteger(usage?.[field])) fail(`usage.${field} must be an integer`);
  for (const field of ['cache_read_input_tokens', 'cache_creation_input_tokens'])
    if (usage?.[field] !== undefined && !Number.isInteger(usage[field]))
      fail(`usage.${field} must be an integer`);
  return usage ?? {};
}
