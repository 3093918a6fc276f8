import type { JsonObject } from './json.ts';
import { type KeptSignatures, packSignatures } from './kept-signatures.ts';
import { limits } from './limits.ts';
import { isNestedWithin } from './request-fields.ts';

/** A piece of what a node needs again: of a call by its number in the answer, of the message, or of its reasoning. */
export type KeptPiece =
  | { readonly call: number; readonly extra: JsonObject }
  | { readonly message: JsonObject }
  | { readonly details: readonly JsonObject[]; readonly whole: boolean };

/** The size of a detail without its texts, in characters. */
const detailSize = 200;

/**
 * Collects what a node signs and encrypts in one answer (kept-signatures.ts) until it can be written: before the call that it
 * belongs to, because clients remove thinking from the end of a turn.
 */
export class KeptAnswer {
  readonly #model: string;
  #extras = new Map<number, JsonObject>();
  readonly #ids = new Map<number, string>();
  #message: JsonObject | undefined;
  #details: JsonObject[] = [];
  #size = 0;
  /** Whether something was too large to be carried. */
  lost = false;

  /** `model` is the node's name of the model. */
  constructor(model: string) {
    this.#model = model;
  }

  take(piece: KeptPiece): void {
    if ('call' in piece) this.#extras.set(piece.call, piece.extra);
    else if ('message' in piece) this.#message = piece.message;
    else for (const detail of piece.details) this.#addDetail(detail, piece.whole);
  }

  /** A call has begun, and has this id for the caller. */
  started(call: number, id: string): void {
    this.#ids.set(call, id);
  }

  /** What was collected since the last call, as a text that the caller sends back; undefined for nothing. */
  pack(): string | undefined {
    const kept: { -readonly [K in keyof KeptSignatures]: KeptSignatures[K] } = {};
    const calls = this.#startedCalls();
    if (calls.length > 0) kept.calls = Object.fromEntries(calls);
    if (this.#message !== undefined) kept.message = this.#message;
    // Details without encryption are ordinary reasoning. If one is encrypted, all are kept, because it is valid only together with the others.
    if (this.#details.some(isEncrypted)) kept.details = this.#details;
    if (Object.keys(kept).length === 0) return undefined;
    if (kept.details !== undefined) this.#details = [];
    this.#message = undefined;
    // A node's answer may be nested so deeply that writing it exhausts the stack.
    const packed = isNestedWithin(kept, limits.nesting) ? packSignatures(kept, this.#model) : undefined;
    if (packed === undefined) this.lost = true;
    return packed;
  }

  #startedCalls(): readonly [string, JsonObject][] {
    const calls: [string, JsonObject][] = [];
    for (const [call, extra] of this.#extras) {
      const id = this.#ids.get(call);
      if (id === undefined) continue;
      calls.push([id, extra]);
      this.#extras.delete(call);
    }
    return calls;
  }

  /** In a stream the text of one detail comes in pieces, each with the same index. */
  #addDetail(detail: JsonObject, whole: boolean): void {
    const { text, summary, data } = detail;
    for (const each of [text, summary, data]) this.#size += typeof each === 'string' ? each.length : 0;
    this.#size += detailSize;
    if (this.#size > limits.keptSignatures) {
      this.lost ||= isEncrypted(detail) || this.#details.some(isEncrypted);
      this.#details = [];
      return;
    }
    const last = this.#details.at(-1);
    const sameKind = last !== undefined && last['type'] === detail['type'] && !isEncrypted(detail);
    if (whole || !sameKind || detail['index'] === undefined || last['index'] !== detail['index'])
      this.#details.push(detail);
    else this.#details[this.#details.length - 1] = joined(last, detail);
  }
}

/** What a node signs and encrypts in a whole answer. */
export interface KeptWhole {
  /** As a text that the caller brings back; undefined for nothing. */
  readonly packed: string | undefined;
  /** Whether something was too large to be carried. */
  readonly lost: boolean;
}

/** The members of a whole answer (ChatAnswer) that have such pieces. */
interface WholeAnswer {
  readonly kept: readonly KeptPiece[];
  readonly toolCalls: readonly { readonly extra: JsonObject | undefined }[];
}

const nothingKept: KeptWhole = { packed: undefined, lost: false };

/** Collects it from an answer whose calls have these ids for the caller. `model` is the node's name of the model. */
export function keepWhole(
  { kept: pieces, toolCalls }: WholeAnswer,
  callIds: readonly string[],
  model: string,
): KeptWhole {
  // Most answers have nothing of it.
  if (pieces.length === 0 && toolCalls.length === 0) return nothingKept;
  const kept = new KeptAnswer(model);
  for (const piece of pieces) kept.take(piece);
  for (const [call, { extra }] of toolCalls.entries()) {
    if (extra !== undefined) kept.take({ call, extra });
    kept.started(call, callIds[call] ?? '');
  }
  const packed = kept.pack();
  return { packed, lost: kept.lost };
}

function isEncrypted(detail: JsonObject): boolean {
  return typeof detail['data'] === 'string' && detail['data'] !== '';
}

function joined(before: JsonObject, detail: JsonObject): JsonObject {
  const fields: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(detail)) {
    const known = fields[name];
    if (value === null || value === undefined) continue;
    const grows = name === 'text' || name === 'summary';
    fields[name] = grows && typeof known === 'string' && typeof value === 'string' ? known + value : value;
  }
  return fields;
}
