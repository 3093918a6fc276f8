import type { ChatEvent, StreamEnd } from './chat-event.ts';
import { ChatStream } from './chat-stream.ts';
import type { ChatUsage } from './chat-usage.ts';
import type { ConvertedStream } from './conversion.ts';
import { responsesStreamError } from './responses-errors.ts';
import {
  endingOf,
  isTierLost,
  newIdentity,
  type ResponseIdentity,
  type ResponseProgress,
  responseJson,
} from './responses-object.ts';
import type { ResponsesEvent } from './responses-open-item.ts';
import { ResponsesOutput } from './responses-output.ts';
import type { ResponsesState } from './responses-state.ts';
import { commentEvent, doneEvent, numbered, openAround, openEvent } from './sse-writer.ts';
import { UpstreamFault } from './upstream-fault.ts';

/** What the caller has seen of an opened stream: the response's identity, and how many events were numbered. */
export interface ResponsesOpened extends ResponseIdentity {
  readonly events: number;
}

/**
 * A chat stream converted to Responses events (responses.md). `opened` continues the stream that an
 * earlier node began, with the same id and the next number.
 */
export function createResponsesStream(
  state: ResponsesState,
  opened?: ResponsesOpened,
): ConvertedStream<ResponsesOpened> {
  return new ResponsesStream(state, opened);
}

class ResponsesStream implements ConvertedStream<ResponsesOpened> {
  readonly #state: ResponsesState;
  readonly #chat = new ChatStream();
  readonly #output: ResponsesOutput;
  #identity: ResponseIdentity | undefined;
  #events = 0;
  #out: string[] = [];
  hasContent = false;
  done = false;
  fault: UpstreamFault | undefined;

  constructor(state: ResponsesState, opened: ResponsesOpened | undefined) {
    this.#state = state;
    this.#output = new ResponsesOutput(state, (event) => {
      this.#open();
      this.hasContent = true;
      this.#write(event);
    });
    if (opened === undefined) return;
    this.#identity = { id: opened.id, createdAt: opened.createdAt };
    this.#events = opened.events;
  }

  get opened(): ResponsesOpened | undefined {
    return this.#identity === undefined ? undefined : { ...this.#identity, events: this.#events };
  }

  get usage(): ChatUsage {
    return this.#chat.usage;
  }

  get lost(): readonly string[] {
    return [...new Set([...this.#output.lost, ...this.#chat.unread])];
  }

  push(bytes: Uint8Array): string[] {
    return this.#isOver() ? [] : this.#convert(this.#chat.push(bytes));
  }

  end(cut?: UpstreamFault): string[] {
    return this.#isOver() ? [] : this.#convert(this.#chat.end(cut));
  }

  /** Opens the response as a keep-alive: comments do not reset the clients' timeout between events. */
  keepAlive(): string[] {
    if (this.done) return [];
    this.#open();
    this.#out.push(commentEvent('keepalive'));
    return this.#given();
  }

  /** `error`, for which SDKs throw, then `response.failed`, which Codex reads. Open items are not closed. */
  fail(fault: UpstreamFault): string[] {
    if (this.done) return [];
    const error = responsesStreamError(fault);
    const { code, message } = error;
    this.#open();
    this.#write({ type: 'error', error });
    this.#close({ status: 'failed', output: this.#output.snapshot(), error: { code, message } });
    return this.#given();
  }

  #isOver(): boolean {
    return this.done || this.fault !== undefined;
  }

  #convert(events: readonly ChatEvent[]): string[] {
    try {
      for (const event of events) this.#take(event);
    } catch (error) {
      if (!(error instanceof UpstreamFault)) throw error;
      this.fault = error;
    }
    return this.#given();
  }

  #take(event: ChatEvent): void {
    if (event.type === 'fault') this.fault = event.fault;
    else if (event.type === 'end') this.#finish(event);
    else this.#output.take(event);
  }

  #finish({ finish, usage, serviceTier }: StreamEnd): void {
    const ending = endingOf(finish);
    if (isTierLost(serviceTier)) this.#output.lost.add('service_tier');
    this.#open();
    this.#output.end(ending.status === 'incomplete');
    this.#close({ ...ending, output: this.#output.snapshot(), usage, serviceTier });
    this.hasContent = true;
  }

  #close(progress: ResponseProgress): void {
    this.#writeResponse(`response.${progress.status}`, progress);
    this.#out.push(doneEvent);
    this.done = true;
  }

  #open(): void {
    if (this.#identity !== undefined) return;
    this.#identity = newIdentity(this.#state);
    const progress = { status: 'in_progress', output: [] } as const;
    this.#writeResponse('response.created', progress);
    this.#writeResponse('response.in_progress', progress);
  }

  #writeResponse(type: string, progress: ResponseProgress): void {
    const identity = this.#identity ?? newIdentity(this.#state);
    this.#write(openAround(type, 'response', responseJson(identity, progress, this.#state)));
  }

  #write(event: ResponsesEvent | string): void {
    this.#out.push(numbered(typeof event === 'string' ? event : openEvent(event), this.#events));
    this.#events += 1;
  }

  #given(): string[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }
}
