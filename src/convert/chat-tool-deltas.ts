import type { ChatEvent } from './chat-event.ts';
import type { CallPiece } from './chat-tool-calls.ts';
import { JsonProgress } from './json-progress.ts';
import { limits } from './limits.ts';
import { UpstreamFault } from './upstream-fault.ts';

/** One call as its pieces come in. */
interface Call {
  readonly number: number;
  readonly custom: boolean;
  readonly progress: JsonProgress;
  id: string;
  name: string;
  /** Arguments that came before the name. */
  held: string[];
  started: boolean;
}

/**
 * Joins the pieces of streamed tool calls. Calls are keyed by index; the first non-empty id and name are used; a new id with
 * a name on a used index is a new call (Gemini sends index 0 for all); without an index the piece belongs to the call of its
 * id, else to the last call; a call starts once its name is known.
 */
export class ToolDeltas {
  readonly #calls: Call[] = [];
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  #length = 0;
  /** Whether more arguments came after their end, other than a repetition of the call. */
  overran = false;

  /** Adds the events for the entries of one chunk. Throws an `oversize` fault beyond the bounds. */
  take(pieces: readonly CallPiece[], events: ChatEvent[]): void {
    for (const piece of pieces) {
      const call = this.#find(piece) ?? this.#create(piece);
      if (call === undefined) continue;
      if (piece.index !== undefined) this.#byIndex.set(piece.index, call);
      if (call.id === '' && piece.id !== '') this.#identify(call, piece.id);
      if (call.name === '') call.name = piece.name;
      if (piece.extra !== undefined)
        events.push({ type: 'kept', piece: { call: call.number, extra: piece.extra } });
      this.#start(call, events);
      if (piece.arguments === '') continue;
      if (call.progress.state === 'complete' && piece.name !== '') continue;
      this.#extend(call, piece.arguments, events);
    }
  }

  /** The stream ended in order. Throws a `malformed` fault for arguments without a tool. */
  end(events: ChatEvent[]): void {
    for (const orphan of this.#calls.filter((call) => !call.started)) {
      // Some nodes send name and arguments under different indexes. The arguments then belong to the call that has none.
      const target = this.#calls.find(
        (call) => call.started && call.progress.state === 'empty' && !call.custom,
      );
      if (target === undefined)
        throw new UpstreamFault('malformed', 'The model server sent a tool call without a name.');
      for (const text of orphan.held) this.#pass(target, text, events);
    }
    for (const call of this.#calls) if (call.custom) this.#pass(call, '"}', events);
  }

  #find(piece: CallPiece): Call | undefined {
    const known = piece.id === '' ? undefined : this.#byId.get(piece.id);
    const indexed = piece.index === undefined ? undefined : this.#byIndex.get(piece.index);
    if (piece.index === undefined) return this.#withoutIndex(piece, known);
    if (indexed === undefined) return known !== undefined && !bothNamed(piece, known) ? known : undefined;
    if (known !== undefined && known !== indexed && piece.name === '') return known;
    return isAnother(piece, indexed) ? undefined : indexed;
  }

  #withoutIndex(piece: CallPiece, known: Call | undefined): Call | undefined {
    if (known !== undefined) return known;
    const last = this.#calls.at(-1);
    if (last === undefined || (piece.id !== '' && piece.name !== '' && last.name !== '')) return undefined;
    return isAnother(piece, last) ? undefined : last;
  }

  #create(piece: CallPiece): Call | undefined {
    if (piece.id === '' && piece.name === '' && piece.arguments === '') return undefined;
    if (this.#calls.length >= limits.toolCalls)
      throw new UpstreamFault('oversize', 'The model server answered with too many tool calls.');
    const call: Call = {
      number: this.#calls.length,
      custom: piece.custom,
      progress: new JsonProgress(),
      id: '',
      name: '',
      held: [],
      started: false,
    };
    this.#calls.push(call);
    return call;
  }

  #identify(call: Call, id: string): void {
    call.id = id;
    if (!this.#byId.has(id)) this.#byId.set(id, call);
  }

  #start(call: Call, events: ChatEvent[]): void {
    if (call.started || call.name === '') return;
    call.started = true;
    events.push({ type: 'tool_start', call: call.number, id: call.id, name: call.name });
    if (call.custom) this.#pass(call, '{"input":"', events);
    for (const text of call.held) this.#pass(call, text, events);
    call.held = [];
  }

  #extend(call: Call, text: string, events: ChatEvent[]): void {
    this.#length += text.length;
    if (this.#length > limits.toolArguments)
      throw new UpstreamFault('oversize', 'The model server sent tool arguments that are too large.');
    const json = call.custom ? JSON.stringify(text).slice(1, -1) : text;
    if (call.started) this.#pass(call, json, events);
    else call.held.push(json);
  }

  /** Drops text after the end of the object, because clients join the pieces and could not parse the result. */
  #pass(call: Call, text: string, events: ChatEvent[]): void {
    const over = call.progress.state === 'complete';
    const used = over ? '' : text.slice(0, call.progress.take(text));
    if (text.length > used.length && text.slice(used.length).trim() !== '') this.overran = true;
    if (over) return;
    events.push({ type: 'tool_arguments', call: call.number, text: used, progress: call.progress.state });
  }
}

function bothNamed(piece: CallPiece, call: Call): boolean {
  return piece.name !== '' && call.name !== '';
}

/** Whether an entry that names a known call by index, or none, is really the start of another call. */
function isAnother(piece: CallPiece, call: Call): boolean {
  if (!bothNamed(piece, call)) return false;
  if (piece.id !== '' && call.id !== '') return piece.id !== call.id;
  // Without ids only the arguments show it: after a complete object, a second object belongs to another call.
  const whole = call.progress.state === 'complete' && piece.arguments.trimStart().startsWith('{');
  return whole || (piece.name !== call.name && call.progress.state !== 'partial');
}
