import type { ChatEvent, StreamEnd } from './chat-event.ts';
import { ChatStream } from './chat-stream.ts';
import type { ChatUsage } from './chat-usage.ts';
import { completionsFinish, totalUsage } from './completions-choice.ts';
import type { CompletionsState } from './completions-request.ts';
import type { ConvertedStream } from './conversion.ts';
import { openAIError } from './openai-errors.ts';
import { commentEvent, dataEvent, doneEvent } from './sse-writer.ts';
import type { UpstreamFault } from './upstream-fault.ts';

/** What was already sent to the caller of a completions stream: its identity, and the usage of finished choices. */
export interface CompletionsOpened {
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  readonly usages: readonly ChatUsage[];
}

/**
 * The chat stream of one choice converted to completions chunks (completions.md). The choices of a request are
 * streamed one after the other: pass `opened` of the last stream to the next, also if another node continues.
 * Usage, if the caller asked for it, and `[DONE]` come with the last choice.
 */
export function createCompletionsStream(
  state: CompletionsState,
  choice: number,
  opened?: CompletionsOpened,
): ConvertedStream<CompletionsOpened> {
  return new CompletionsStream(state, choice, opened);
}

class CompletionsStream implements ConvertedStream<CompletionsOpened> {
  readonly #state: CompletionsState;
  readonly #choice: number;
  readonly #chat = new ChatStream();
  readonly #lost = new Set<string>();
  #out: string[] = [];
  hasContent = false;
  done = false;
  fault: UpstreamFault | undefined;
  opened: CompletionsOpened | undefined;

  constructor(state: CompletionsState, choice: number, opened: CompletionsOpened | undefined) {
    this.#state = state;
    this.#choice = choice;
    this.opened = opened;
  }

  get usage(): ChatUsage {
    return this.#chat.usage;
  }

  get lost(): readonly string[] {
    return [...new Set([...this.#lost, ...this.#chat.unread])];
  }

  push(bytes: Uint8Array): string[] {
    return this.#isOver() ? [] : this.#convert(this.#chat.push(bytes));
  }

  end(cut?: UpstreamFault): string[] {
    return this.#isOver() ? [] : this.#convert(this.#chat.end(cut));
  }

  keepAlive(): string[] {
    return this.done ? [] : [commentEvent('keepalive')];
  }

  /** An error event. No `[DONE]` follows, because it would mean that the answer is complete. */
  fail(fault: UpstreamFault): string[] {
    if (this.done) return [];
    this.done = true;
    return [dataEvent({ error: openAIError(fault).error })];
  }

  #isOver(): boolean {
    return this.done || this.fault !== undefined;
  }

  #convert(events: readonly ChatEvent[]): string[] {
    for (const event of events) this.#take(event);
    const out = this.#out;
    this.#out = [];
    return out;
  }

  #take(event: ChatEvent): void {
    if (event.type === 'text' && event.logprobs.length > 0) this.#lost.add('logprobs');
    if (event.type === 'text' || event.type === 'refusal') this.#write(event.text, null);
    else if (event.type === 'end') this.#finish(event);
    else if (event.type === 'fault') this.fault = event.fault;
    else if (event.type === 'reasoning' || event.type === 'signature') this.#lost.add('reasoning');
    else if (event.type === 'citation') this.#lost.add('annotations');
    else if (event.type === 'kept') this.#lost.add('signature');
    else this.#lost.add('tool_calls');
  }

  #finish({ finish, usage, serviceTier }: StreamEnd): void {
    this.#write('', completionsFinish(finish));
    if (serviceTier !== undefined) this.#lost.add('service_tier');
    const { id, created, usages } = this.#identity();
    this.opened = { id, created, usages: [...usages, usage] };
    this.done = true;
    if (this.#choice < this.#state.openings.length - 1) return;
    if (this.#state.includeUsage) this.#chunk([], totalUsage(this.opened.usages));
    this.#out.push(doneEvent);
  }

  #write(text: string, finish: string | null): void {
    const opening = this.hasContent ? '' : (this.#state.openings[this.#choice] ?? '');
    this.hasContent = true;
    if (opening !== '') this.#write(opening, null);
    this.#chunk([{ text, index: this.#choice, logprobs: null, finish_reason: finish }], null);
  }

  #chunk(choices: readonly object[], usage: object | null): void {
    const { id, created } = this.#identity();
    const { model, includeUsage } = this.#state;
    const about = { id, object: 'text_completion', created, model, choices };
    this.#out.push(dataEvent(includeUsage ? { ...about, usage } : about));
  }

  #identity(): CompletionsOpened {
    const { newId, now } = this.#state;
    this.opened ??= { id: newId('cmpl-'), created: Math.floor(now() / 1_000), usages: [] };
    return this.opened;
  }
}
