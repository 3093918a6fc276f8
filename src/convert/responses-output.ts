import type { ChatEvent, ToolArguments, ToolStart } from './chat-event.ts';
import { KeptAnswer } from './kept-answer.ts';
import { limits } from './limits.ts';
import { callPrefix, type ItemStatus, type ResponsesItem } from './responses-items.ts';
import { OpenCall } from './responses-open-call.ts';
import type { Emit, ItemPlace } from './responses-open-item.ts';
import { OpenMessage } from './responses-open-message.ts';
import { OpenReasoning } from './responses-open-reasoning.ts';
import type { ResponsesState } from './responses-state.ts';
import { ToolIds } from './tool-ids.ts';
import { UpstreamFault } from './upstream-fault.ts';
import type { UrlCitation } from './url-citations.ts';

/** What an item and a log probability count besides their text, in characters of `limits.answerWeight`. */
const itemWeight = 1_000;
const logprobWeight = 500;

type OpenItem = OpenMessage | OpenReasoning | OpenCall;

/**
 * The output items of one streamed response. An item is announced with its first content and closed when another one
 * begins; calls stay open side by side until their arguments are complete. The last item is open to the end: only then
 * is it known whether it was cut.
 */
export class ResponsesOutput {
  readonly #state: ResponsesState;
  readonly #emit: Emit;
  readonly #ids: ToolIds;
  readonly #items: OpenItem[] = [];
  readonly #open = new Set<OpenItem>();
  readonly #calls = new Map<number, OpenCall>();
  readonly #kept: KeptAnswer;
  #citations: UrlCitation[] = [];
  #weight = 0;
  #hasText = false;
  /** Labels of what the node sent and a response cannot carry. */
  readonly lost = new Set<string>();

  constructor(state: ResponsesState, emit: Emit) {
    this.#state = state;
    this.#emit = emit;
    this.#ids = new ToolIds(state.newId, 'call_');
    this.#kept = new KeptAnswer(state.nodeModel);
  }

  /** Throws an `oversize` fault beyond the bound. */
  take(event: Exclude<ChatEvent, { type: 'end' } | { type: 'fault' }>): void {
    if ('text' in event) this.#weigh(event.text.length);
    if (event.type === 'text') this.#text(event.text, event.logprobs);
    else if (event.type === 'reasoning') this.#reasoning().add(event.text);
    else if (event.type === 'refusal') this.#message().refuse(event.text);
    else if (event.type === 'tool_start') this.#start(event);
    else if (event.type === 'tool_arguments') this.#arguments(event);
    else if (event.type === 'citation') this.#cite(event.citation);
    else if (event.type === 'kept') this.#kept.take(event.piece);
    else this.lost.add('signature');
  }

  /** Closes what is open, in order. `cut`: the answer was ended by a limit or a filter. */
  end(cut: boolean): void {
    this.#giveKept();
    if (this.#kept.lost) this.lost.add('signature');
    const last = this.#items.at(-1);
    for (const item of this.#open)
      this.#close(item, cut && (item === last || !item.isWhole) ? 'incomplete' : 'completed');
    if (this.#citations.length > 0) this.lost.add('annotations');
  }

  /** All items as they are; what is open is incomplete. */
  snapshot(): readonly ResponsesItem[] {
    return this.#items.map((item) => item.snapshot());
  }

  #text(text: string, logprobs: readonly unknown[]): void {
    const message = this.#message();
    const told = this.#state.logprobs ? logprobs : [];
    if (logprobs.length > told.length) this.lost.add('logprobs');
    if (told.length > 0) this.#weigh(told.length * logprobWeight);
    message.say(text, told);
    this.#hasText = true;
    for (const citation of this.#citations) message.cite(citation);
    this.#citations = [];
  }

  /** Sources may be named before the text, never after it is closed. */
  #cite(citation: UrlCitation): void {
    this.#weigh(itemWeight);
    const last = this.#items.at(-1);
    if (last instanceof OpenMessage && last.speaks) last.cite(citation);
    else if (this.#hasText) this.lost.add('annotations');
    else this.#citations.push(citation);
  }

  #start(event: ToolStart): void {
    const origin = this.#state.names.origin(event.name);
    const callId = this.#ids.take(event.id);
    this.#kept.started(event.call, callId);
    this.#giveKept();
    const place = this.#place(callPrefix(origin));
    const call = new OpenCall({ ...place, callId, origin }, this.#emit);
    this.#add(call);
    this.#calls.set(event.call, call);
  }

  #arguments(event: ToolArguments): void {
    this.#calls.get(event.call)?.add(event);
  }

  #message(): OpenMessage {
    const last = this.#items.at(-1);
    if (last instanceof OpenMessage) return last;
    const message = new OpenMessage(this.#place('msg_'), this.#emit);
    this.#add(message);
    return message;
  }

  /** What the node wants to see again is a reasoning item's encrypted content, before the call that it belongs to. */
  #giveKept(): void {
    const packed = this.#kept.pack();
    if (packed === undefined) return;
    this.#weigh(packed.length);
    this.#reasoning().seal(packed);
  }

  #reasoning(): OpenReasoning {
    const last = this.#items.at(-1);
    if (last instanceof OpenReasoning && !last.isSealed) return last;
    const reasoning = new OpenReasoning(this.#place('rs_'), this.#state.summarized, this.#emit);
    this.#add(reasoning);
    return reasoning;
  }

  /** The place of a new item; finished items are closed before it. */
  #place(prefix: string): ItemPlace {
    for (const item of this.#open) if (item.isWhole) this.#close(item, 'completed');
    return { id: this.#state.newId(prefix), index: this.#items.length };
  }

  /** The last event repeats all items: an endless answer must not fill the memory. */
  #weigh(weight: number): void {
    this.#weight += weight;
    if (this.#weight > limits.answerWeight)
      throw new UpstreamFault('oversize', 'The model server sent an answer that is too large.');
  }

  #add(item: OpenItem): void {
    this.#weigh(itemWeight);
    this.#items.push(item);
    this.#open.add(item);
  }

  #close(item: OpenItem, status: ItemStatus): void {
    this.#open.delete(item);
    item.close(status);
  }
}
