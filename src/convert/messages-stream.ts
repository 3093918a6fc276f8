import type { ChatEvent, StreamEnd } from './chat-event.ts';
import { ChatStream } from './chat-stream.ts';
import { type ChatUsage, noUsage } from './chat-usage.ts';
import type { ConvertedStream } from './conversion.ts';
import { KeptAnswer } from './kept-answer.ts';
import { MessagesBlocks } from './messages-blocks.ts';
import { messagesError } from './messages-errors.ts';
import { messageJson } from './messages-object.ts';
import type { MessagesState } from './messages-request.ts';
import { messagesStop } from './messages-stop.ts';
import { isTierLost, messageUsageJson, streamUsageJson } from './messages-usage.ts';
import { namedEvent, namedMembers } from './sse-writer.ts';
import { ToolIds } from './tool-ids.ts';
import { UpstreamFault } from './upstream-fault.ts';

/** What the caller has seen of an opened stream: `message_start` with this id. */
export interface MessagesOpened {
  readonly id: string;
}

/** A chat stream converted to Messages events (messages.md). `opened` continues the stream that an earlier node began. */
export function createMessagesStream(
  state: MessagesState,
  opened?: MessagesOpened,
): ConvertedStream<MessagesOpened> {
  return new MessagesStream(state, opened);
}

class MessagesStream implements ConvertedStream<MessagesOpened> {
  readonly #state: MessagesState;
  readonly #chat = new ChatStream();
  readonly #blocks: MessagesBlocks;
  readonly #lost = new Set<string>();
  readonly #id: string;
  hasContent = false;
  done = false;
  fault: UpstreamFault | undefined;
  opened: MessagesOpened | undefined;

  constructor(state: MessagesState, opened: MessagesOpened | undefined) {
    this.#state = state;
    this.#blocks = new MessagesBlocks(
      state.names,
      new ToolIds(state.newId, 'toolu_'),
      new KeptAnswer(state.nodeModel),
    );
    this.opened = opened;
    this.#id = opened?.id ?? state.newId('msg_');
  }

  get usage(): ChatUsage {
    return this.#chat.usage;
  }

  get lost(): readonly string[] {
    return [...new Set([...this.#lost, ...this.#chat.unread])];
  }

  push(bytes: Uint8Array): string[] {
    return this.#isOver() ? [] : this.#write(this.#chat.push(bytes));
  }

  end(cut?: UpstreamFault): string[] {
    return this.#isOver() ? [] : this.#write(this.#chat.end(cut));
  }

  keepAlive(): string[] {
    if (this.done) return [];
    return [...this.#open(), namedEvent({ type: 'ping' })];
  }

  fail(fault: UpstreamFault): string[] {
    if (this.done) return [];
    this.done = true;
    const { error } = messagesError(fault);
    return [namedEvent({ type: 'error', error })];
  }

  #isOver(): boolean {
    return this.done || this.fault !== undefined;
  }

  #write(events: readonly ChatEvent[]): string[] {
    const out: string[] = [];
    try {
      for (const event of events) this.#take(event, out);
    } catch (error) {
      if (!(error instanceof UpstreamFault)) throw error;
      this.fault = error;
    }
    if (out.length === 0) return out;
    this.hasContent = true;
    return [...this.#open(), ...out];
  }

  #take(event: ChatEvent, out: string[]): void {
    if (event.type === 'fault') this.fault = event.fault;
    else if (event.type === 'end') this.#finish(event, out);
    else if (event.type === 'citation') this.#lost.add('annotations');
    else {
      if (event.type === 'text' && event.logprobs.length > 0) this.#lost.add('logprobs');
      this.#blocks.take(event, out);
    }
  }

  #finish(end: StreamEnd, out: string[]): void {
    this.#blocks.end(end.finish, out);
    const { usedTool, refused } = this.#blocks;
    const { stopSequences } = this.#state;
    const stop = messagesStop({ ...end, usedTool, refused, stopSequences });
    const delta = JSON.stringify({ ...stop, container: null });
    const usage = streamUsageJson(end.usage);
    out.push(namedMembers('message_delta', `"delta":${delta},"usage":${usage},"context_management":null`));
    if (isTierLost(end.serviceTier)) this.#lost.add('service_tier');
    if (this.#blocks.keptLost) this.#lost.add('signature');
    out.push(namedEvent({ type: 'message_stop' }));
    this.done = true;
  }

  #open(): string[] {
    if (this.opened !== undefined) return [];
    this.opened = { id: this.#id };
    const usage = messageUsageJson(noUsage, this.#chat.serviceTier);
    const message = messageJson(this.#id, this.#state.model, { content: '[]', stop: undefined, usage });
    return [namedMembers('message_start', `"message":${message}`)];
  }
}
