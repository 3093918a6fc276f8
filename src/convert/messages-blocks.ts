import type { ChatEvent, ToolArguments, ToolStart } from './chat-event.ts';
import type { Finish } from './finish-reason.ts';
import type { KeptAnswer } from './kept-answer.ts';
import { limits } from './limits.ts';
import { directCaller } from './messages-reply.ts';
import { ToolInput } from './messages-tool-block.ts';
import { namedEvent, openDelta } from './sse-writer.ts';
import type { ToolIds } from './tool-ids.ts';
import type { ToolNames } from './tool-names.ts';
import { UpstreamFault } from './upstream-fault.ts';

type TextKind = 'text' | 'thinking';

type OpenBlock = { readonly kind: TextKind } | OpenTool;

interface OpenTool {
  readonly kind: 'tool';
  readonly call: number;
  readonly input: ToolInput;
}

/** Events that wait until the open tool is complete. */
interface Waiting {
  readonly call: number | undefined;
  readonly events: ChatEvent[];
}

/**
 * The content blocks of a streamed message (messages.md): indices 0, 1, 2… in the order of their start, one open at a time.
 * A tool is streamed at once until its arguments are complete; other events wait. No block is opened for white space that
 * nothing follows.
 */
export class MessagesBlocks {
  readonly #names: ToolNames;
  readonly #ids: ToolIds;
  readonly #kept: KeptAnswer;
  #index = -1;
  /** What the deltas of the open block have in common. */
  #frame = '';
  #open: OpenBlock | undefined;
  #waiting: Waiting[] = [];
  #held = 0;
  readonly #space: Record<TextKind, string> = { text: '', thinking: '' };
  usedTool = false;
  refused = false;

  constructor(names: ToolNames, ids: ToolIds, kept: KeptAnswer) {
    this.#names = names;
    this.#ids = ids;
    this.#kept = kept;
  }

  /** Whether signed or encrypted values, which the node needs with the next request, were too large to be passed on. */
  get keptLost(): boolean {
    return this.#kept.lost;
  }

  /** Writes an event, now or when the open tool is complete. Throws an UpstreamFault if it cannot become a valid message. */
  take(event: ChatEvent, out: string[]): void {
    if (this.#isBusy() && callOf(event) !== this.#openCall()) this.#hold(event);
    else this.#write(event, out);
    while (!this.#isBusy()) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      for (const waiting of next.events) this.#write(waiting, out);
    }
  }

  /** Writes what still waits and closes the last block. */
  end(finish: Finish, out: string[]): void {
    for (const { events } of this.#waiting) for (const event of events) this.#write(event, out, finish);
    this.#waiting = [];
    this.#giveKept(out, finish);
    this.#close(out, finish);
  }

  #isBusy(): boolean {
    return this.#open?.kind === 'tool' && !this.#open.input.complete;
  }

  #openCall(): number | undefined {
    return this.#open?.kind === 'tool' ? this.#open.call : undefined;
  }

  #hold(event: ChatEvent): void {
    const call = callOf(event);
    const last = this.#waiting.at(-1);
    const group =
      call === undefined
        ? last?.call === undefined
          ? last
          : undefined
        : this.#waiting.find((waiting) => waiting.call === call);
    if (group === undefined) this.#waiting.push({ call, events: [event] });
    else group.events.push(event);
    if ('text' in event && call === undefined) this.#count(event.text.length);
  }

  #count(length: number): void {
    this.#held += length;
    if (this.#held > limits.heldText)
      throw new UpstreamFault(
        'oversize',
        'The model server sent too much text before a tool call was complete.',
      );
  }

  #write(event: ChatEvent, out: string[], finish: Finish = 'unsaid'): void {
    if (event.type === 'text') this.#text('text', event.text, out, finish);
    else if (event.type === 'reasoning') this.#text('thinking', event.text, out, finish);
    else if (event.type === 'signature') this.#sign(event.signature, out);
    else if (event.type === 'tool_start') this.#startTool(event, out, finish);
    else if (event.type === 'tool_arguments') this.#arguments(event, out);
    else if (event.type === 'kept') this.#kept.take(event.piece);
    else if (event.type === 'refusal') {
      this.refused = true;
      this.#text('text', event.text, out, finish);
    }
  }

  #text(kind: TextKind, text: string, out: string[], finish: Finish): void {
    if (this.#open?.kind !== kind) {
      if (text.trim() === '') {
        this.#count(text.length);
        this.#space[kind] += text;
        return;
      }
      if (kind === 'text') this.#giveKept(out, finish);
      this.#start(
        kind === 'text'
          ? { type: kind, text: '', citations: null }
          : { type: kind, thinking: '', signature: '' },
        out,
        finish,
      );
      this.#open = { kind };
      this.#frame = blockDeltas(this.#index, kind);
    }
    const whole = this.#space[kind] + text;
    this.#space[kind] = '';
    out.push(blockDelta(this.#frame, whole));
  }

  /** The signature ends its block: later thinking belongs to the next block. */
  #sign(signature: string, out: string[]): void {
    if (this.#open?.kind === 'thinking') this.#close(out, 'unsaid', signature);
  }

  #startTool({ call, id, name }: ToolStart, out: string[], finish: Finish): void {
    this.#space.text = '';
    this.#space.thinking = '';
    const callerId = this.#ids.take(id);
    this.#kept.started(call, callerId);
    this.#giveKept(out, finish);
    const { name: callerName } = this.#names.origin(name);
    const caller = directCaller;
    this.#start({ type: 'tool_use', id: callerId, name: callerName, input: {}, caller }, out, finish);
    this.#open = { kind: 'tool', call, input: new ToolInput() };
    this.usedTool = true;
  }

  /** Writes the values that the node needs with the next request: as the signature of the open thinking block, or as a redacted block. */
  #giveKept(out: string[], finish: Finish): void {
    const packed = this.#kept.pack();
    if (packed === undefined) return;
    if (this.#open?.kind === 'thinking') {
      this.#close(out, finish, packed);
      return;
    }
    this.#start({ type: 'redacted_thinking', data: packed }, out, finish);
    this.#stop(out);
  }

  #arguments(event: ToolArguments, out: string[]): void {
    if (this.#open?.kind !== 'tool' || this.#open.call !== event.call) return;
    this.#inputDelta(this.#open.input.take(event), out);
  }

  #inputDelta(json: string, out: string[]): void {
    if (json !== '') this.#delta({ type: 'input_json_delta', partial_json: json }, out);
  }

  #start(block: object, out: string[], finish: Finish): void {
    this.#close(out, finish);
    this.#index += 1;
    out.push(namedEvent({ type: 'content_block_start', index: this.#index, content_block: block }));
  }

  #delta(delta: object, out: string[]): void {
    out.push(namedEvent({ type: 'content_block_delta', index: this.#index, delta }));
  }

  #close(out: string[], finish: Finish, signature: string = ''): void {
    if (this.#open === undefined) return;
    // Without this event Vercel's client does not send the thinking back, which some nodes require.
    if (this.#open.kind === 'thinking') this.#delta({ type: 'signature_delta', signature }, out);
    if (this.#open.kind === 'tool') this.#inputDelta(this.#open.input.end(finish), out);
    this.#open = undefined;
    this.#stop(out);
  }

  #stop(out: string[]): void {
    out.push(namedEvent({ type: 'content_block_stop', index: this.#index }));
  }
}

/** What all deltas of a block of text say before it (`blockDelta`). */
function blockDeltas(index: number, kind: TextKind): string {
  const start = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":`;
  return kind === 'text'
    ? `${start}{"type":"text_delta","text":`
    : `${start}{"type":"thinking_delta","estimated_tokens":null,"thinking":`;
}

function blockDelta(frame: string, text: string): string {
  return `${openDelta(frame, text)}}}\n\n`;
}

function callOf(event: ChatEvent): number | undefined {
  if (event.type === 'kept') return 'call' in event.piece ? event.piece.call : undefined;
  return event.type === 'tool_start' || event.type === 'tool_arguments' ? event.call : undefined;
}
