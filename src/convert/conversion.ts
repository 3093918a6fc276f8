import type { ChatRequest } from './chat-request.ts';
import type { ChatUsage } from './chat-usage.ts';
import type { Dialect } from './dialect.ts';
import type { NewId } from './ids.ts';
import type { UpstreamFault } from './upstream-fault.ts';

/** What a request conversion needs to know besides the caller's body. */
export interface ConversionOptions {
  /** The model as the node calls it. */
  readonly model: string;
  readonly dialect: Dialect;
  /** Refuse with a 400 what cannot be carried (`conversion: Strict` on the key). */
  readonly strict?: boolean;
  /** Identifiers for the reply. */
  readonly newId: NewId;
  /** Unix time in milliseconds. */
  readonly now: () => number;
}

/** A request converted for one node. The caller's body is left as it was; another node converts it again. */
export interface ConvertedRequest<State> {
  readonly chat: ChatRequest;
  /** What the reply conversions of the same format need. */
  readonly state: State;
  /** Paths that could not be carried, bounded and printable, for `x-model-gateway-dropped`. */
  readonly dropped: readonly string[];
  /** Whether some of them may change the answer: then a node that speaks the format natively is the better one. */
  readonly lossy: boolean;
}

/** A reply converted for the caller. */
export interface ConvertedReply {
  /** The body, as JSON text. */
  readonly json: string;
  /** What the node said and the caller's format cannot: counted, not invented. */
  readonly lost: readonly string[];
}

/** An error ready to be written. */
export interface ConvertedError {
  readonly status: number;
  readonly body: object;
}

/**
 * One streamed answer on its way to the caller: bytes of the node in, whole events of the caller's format out. Events
 * are held back until the first content, so that nothing returned means nothing committed: until then another node may
 * be tried. `Opened` is what the caller has seen of a stream that was opened for a keep-alive; given to the stream of
 * the next node it goes on with the same ids and numbers.
 */
export interface ConvertedStream<Opened> {
  /** The events that these bytes complete. Never error events: see `fault`. */
  push(bytes: Uint8Array): string[];
  /** The node's connection is over; `cut` says how where it did not end in order. Gives the closing events if all is well. */
  end(cut?: UpstreamFault): string[];
  /** What keeps the caller's connection alive; opens the answer if its format needs that first. */
  keepAlive(): string[];
  /** The error form of the format, in place of whatever would follow. The stream is done after it. */
  fail(fault: UpstreamFault): string[];
  /** Whether content has been given out: no other node may be tried any more. */
  readonly hasContent: boolean;
  /** How the node's answer failed. Then call `fail`, or, while nothing was given out, try another node. */
  readonly fault: UpstreamFault | undefined;
  /** Whether the last event has been given out. */
  readonly done: boolean;
  /** What the node told of tokens so far. */
  readonly usage: ChatUsage;
  /** What the caller has seen of the opening; undefined while nothing was given out. */
  readonly opened: Opened | undefined;
  /** What the node said and the caller's format cannot. Complete when the stream is done. */
  readonly lost: readonly string[];
}
