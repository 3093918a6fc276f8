import { contentText, type ReasoningSource, readReasoning, refusalText } from './chat-content.ts';
import type { ChatEvent } from './chat-event.ts';
import { parseChat } from './chat-json.ts';
import {
  brokenOff,
  type ChatAnswer,
  firstChoice,
  mediaAlone,
  readChatReply,
  readKept,
  readStopString,
} from './chat-reply.ts';
import { readCallPieces } from './chat-tool-calls.ts';
import { ToolDeltas } from './chat-tool-deltas.ts';
import { type ChatUsage, findUsage, noUsage, readUsage } from './chat-usage.ts';
import { type Finish, readFinish } from './finish-reason.ts';
import { isObject, type JsonObject, listOf, objectOf, textOf } from './json.ts';
import { limits } from './limits.ts';
import { RepeatedChunk } from './repeated-chunk.ts';
import { type SseEvent, SseReader } from './sse-reader.ts';
import { isMediaAlone, noteUnreadBody, noteUnreadChoice, noteUnreadUsage } from './unread-answer.ts';
import { readReportedError } from './upstream-error.ts';
import { UpstreamFault } from './upstream-fault.ts';
import { readCitations } from './url-citations.ts';

/**
 * Reads a chat-completions stream, for all formats. It also reads the JSON answer of a node that ignores `stream: true`,
 * which it recognises by its first character. It keeps only its own state, so that memory does not grow with the stream.
 */
export class ChatStream {
  readonly #sse = new SseReader();
  readonly #tools = new ToolDeltas();
  #body: JsonBody | undefined;
  #sniffed = false;
  #over = false;
  #answered = false;
  #spoke = false;
  #source: ReasoningSource | undefined;
  #finish: Finish = 'unsaid';
  #stopString: string | undefined;
  #usage: ChatUsage = noUsage;
  /** The usage as it came, so that counts which no format carries are reported once. */
  #rawUsage: JsonObject | undefined;
  #serviceTier: string | undefined;
  /** Whether text, a refusal or a call was read. */
  #said = false;
  readonly #unread = new Set<string>();
  readonly #repeated = new RepeatedChunk();

  /** The token counts that the node reported so far. */
  get usage(): ChatUsage {
    return this.#usage;
  }

  /** The tier that served the answer, if the node reports it. */
  get serviceTier(): string | undefined {
    return this.#serviceTier;
  }

  /** Labels, of a closed set, of parts of the answer so far that no format can carry. */
  get unread(): ReadonlySet<string> {
    return this.#unread;
  }

  /** The events in these bytes. None after `end` or `fault`. */
  push(bytes: Uint8Array): ChatEvent[] {
    return this.#guarded((events) => {
      if (!this.#sniffed) this.#sniff(bytes);
      if (this.#body !== undefined) this.#body.push(bytes);
      else for (const event of this.#sse.push(bytes)) this.#read(event, events);
    });
  }

  /**
   * The connection is over; `cut` says how if it did not end in order. An answer whose `finish_reason` was seen is
   * complete all the same.
   */
  end(cut?: UpstreamFault): ChatEvent[] {
    return this.#guarded((events) => {
      if (this.#body !== undefined) {
        if (cut !== undefined) throw cut;
        this.#replay(readChatReply(this.#body.parse()), events);
        return;
      }
      for (const event of this.#sse.end()) this.#read(event, events);
      if (this.#over) return;
      if (this.#finish === 'unsaid') throw cut ?? this.#endedEarly();
      this.#end(events);
    });
  }

  #guarded(read: (events: ChatEvent[]) => void): ChatEvent[] {
    const events: ChatEvent[] = [];
    if (this.#over) return events;
    try {
      read(events);
    } catch (error) {
      if (!(error instanceof UpstreamFault)) throw error;
      this.#over = true;
      events.push({ type: 'fault', fault: error });
    }
    return events;
  }

  #sniff(bytes: Uint8Array): void {
    const first = bytes.find((byte) => !insignificant.has(byte));
    if (first === undefined) return;
    this.#sniffed = true;
    if (first === 0x7b || first === 0x5b) this.#body = new JsonBody();
  }

  #read({ event, data }: SseEvent, events: ChatEvent[]): void {
    if (this.#over) return;
    if (data.trim() === '[DONE]') {
      this.#end(events);
      return;
    }
    const repeated = this.#repeated.textOf(data);
    // Only its text differs from the chunk before, so nothing else has to be read.
    if (repeated !== undefined && repeated !== '' && event !== 'error') {
      events.push({ type: 'text', text: repeated, logprobs: noLogprobs });
      return;
    }
    this.#repeated.forget();
    const chunk = parseChat(data);
    const reported = readReportedError(event === 'error' ? { error: chunk, ...objectOf(chunk) } : chunk);
    if (reported !== undefined) throw reported;
    if (!isObject(chunk))
      throw new UpstreamFault('malformed', 'The model server sent an event that is no JSON object.');
    const before = events.length;
    const spoke = this.#spoke;
    this.#readChunk(chunk, events);
    const said = events.length === before + 1 ? events[before] : undefined;
    // The first chunk of an answer is not learnt, because it may be read in another way.
    if (spoke && said?.type === 'text' && said.logprobs.length === 0 && this.#finish === 'unsaid')
      this.#repeated.learn(data, said.text);
  }

  #readChunk(chunk: JsonObject, events: ChatEvent[]): void {
    const choice = firstChoice(chunk);
    // Some nodes send usage with every chunk; the last one counts.
    const usage = findUsage(chunk, choice);
    if (usage !== undefined) {
      this.#usage = readUsage(usage);
      this.#rawUsage = usage;
    }
    noteUnreadBody(chunk, this.#unread);
    this.#serviceTier = textOf(chunk['service_tier']) || this.#serviceTier;
    if (choice === undefined) return;
    this.#answered = true;
    const broken = readReportedError(choice);
    if (broken !== undefined) throw broken;
    this.#readDelta(choice, events);
    const finish = readFinish(choice['finish_reason']);
    if (finish === 'failed') throw brokenOff();
    if (finish === 'unsaid') return;
    this.#finish = finish;
    this.#stopString = readStopString(choice);
  }

  #readDelta(choice: JsonObject, events: ChatEvent[]): void {
    // A few nodes send one chunk with a whole `message`; after deltas it would be a repetition.
    const whole = isObject(choice['delta']) || this.#spoke ? {} : choice['message'];
    const delta = isObject(choice['delta']) ? choice['delta'] : objectOf(whole);
    const before = events.length;
    noteUnreadChoice(choice, delta, this.#unread);
    this.#readReasoning(delta, events);
    for (const piece of readKept(delta, false)) events.push({ type: 'kept', piece });
    const text = contentText(delta['content']);
    const logprobs = listOf(objectOf(choice['logprobs'])['content']);
    if (text !== '') events.push({ type: 'text', text, logprobs });
    else if (logprobs.length > 0) this.#unread.add('logprobs');
    const refusal = refusalText(delta);
    if (refusal !== '') events.push({ type: 'refusal', text: refusal });
    const calls = readCallPieces(delta);
    if (calls.length > 0) this.#tools.take(calls, events);
    if (text !== '' || refusal !== '' || calls.length > 0) this.#said = true;
    for (const citation of readCitations(delta)) events.push({ type: 'citation', citation });
    if (events.length > before) this.#spoke = true;
  }

  #readReasoning(delta: JsonObject, events: ChatEvent[]): void {
    const { source, pieces } = readReasoning(delta, this.#source);
    this.#source = source ?? this.#source;
    for (const { text, signature } of pieces) {
      if (text !== '') events.push({ type: 'reasoning', text });
      if (signature !== '') events.push({ type: 'signature', signature });
    }
  }

  #replay(answer: ChatAnswer, events: ChatEvent[]): void {
    this.#answered = true;
    this.#finish = answer.finish;
    this.#stopString = answer.stopString;
    this.#usage = answer.usage;
    this.#serviceTier = answer.serviceTier;
    this.#said = true;
    for (const label of answer.unread) this.#unread.add(label);
    for (const { text, signature } of answer.reasoning) {
      if (text !== '') events.push({ type: 'reasoning', text });
      if (signature !== '') events.push({ type: 'signature', signature });
    }
    for (const piece of answer.kept) events.push({ type: 'kept', piece });
    if (answer.text !== '') events.push({ type: 'text', text: answer.text, logprobs: answer.logprobs });
    if (answer.refusal !== '') events.push({ type: 'refusal', text: answer.refusal });
    const calls = answer.toolCalls.map((call, index) => ({ ...call, index, custom: false }));
    this.#tools.take(calls, events);
    for (const citation of answer.citations) events.push({ type: 'citation', citation });
    this.#end(events);
  }

  #end(events: ChatEvent[]): void {
    if (!this.#answered) throw this.#endedEarly();
    if (!this.#said && isMediaAlone(this.#unread)) throw mediaAlone();
    noteUnreadUsage(this.#rawUsage, this.#unread);
    this.#tools.end(events);
    if (this.#tools.overran) this.#unread.add('tool_arguments');
    this.#over = true;
    const finish = this.#finish === 'failed' ? 'unsaid' : this.#finish;
    const { stopString, usage, serviceTier } = this.#summary();
    events.push({ type: 'end', finish, stopString, usage, serviceTier });
  }

  #summary() {
    return { stopString: this.#stopString, usage: this.#usage, serviceTier: this.#serviceTier };
  }

  #endedEarly(): UpstreamFault {
    return this.#answered
      ? new UpstreamFault('truncated', 'The model server ended its answer before it was complete.')
      : new UpstreamFault('empty', 'The model server ended its answer without content.');
  }
}

const noLogprobs: readonly unknown[] = [];

/** Byte order mark and white space, which may stand before a JSON body and before an event stream. */
const insignificant: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf, 0x20, 0x09, 0x0a, 0x0d]);

/** A JSON answer, collected until it is whole. */
class JsonBody {
  readonly #decoder = new TextDecoder('utf-8');
  #text = '';

  push(bytes: Uint8Array): void {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    if (this.#text.length > limits.body)
      throw new UpstreamFault('oversize', 'The model server sent an answer that is too large.');
  }

  parse(): unknown {
    return parseChat(this.#text + this.#decoder.decode());
  }
}
