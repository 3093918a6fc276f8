import type { ChatRequest } from './chat-request.ts';
import type { ChatUsage } from './chat-usage.ts';
import type { Dialect } from './dialect.ts';
import type { NewId } from './ids.ts';
import type { LongTextReader } from './unread-text.ts';
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
  /** Returns the long texts that marks in the body replace; absent if there are no marks. */
  readonly texts?: LongTextReader;
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
  /** Labels of parts of the node's answer that the caller's format cannot carry. */
  readonly lost: readonly string[];
}

/** An error ready to be written. */
export interface ConvertedError {
  readonly status: number;
  readonly body: object;
}

/**
 * One streamed answer: it takes bytes of the node and returns complete events of the caller's format. Events are held back
 * until the first content; while nothing was returned, another node may be tried. `Opened` describes the beginning of a stream
 * that was sent because of a keep-alive; with it, the stream of the next node continues with the same ids and numbers.
 */
export interface ConvertedStream<Opened> {
  /** The events that these bytes complete. Never error events: see `fault`. */
  push(bytes: Uint8Array): string[];
  /** The node's connection ended; `cut` says how if not in order. Returns the closing events if the answer is complete. */
  end(cut?: UpstreamFault): string[];
  /** What keeps the caller's connection alive; opens the answer if its format needs that first. */
  keepAlive(): string[];
  /** The error events of the format, in place of what would follow. The stream is done after them. */
  fail(fault: UpstreamFault): string[];
  /** Whether content was returned: no other node may be tried then. */
  readonly hasContent: boolean;
  /** How the node's answer failed. Then call `fail`, or, while nothing was returned, try another node. */
  readonly fault: UpstreamFault | undefined;
  /** Whether the last event was returned. */
  readonly done: boolean;
  /** The token counts that the node reported so far. */
  readonly usage: ChatUsage;
  /** What the caller has got of the opening; undefined while nothing was returned. */
  readonly opened: Opened | undefined;
  /** Labels of what the node sent and the caller's format cannot carry. Complete when the stream is done. */
  readonly lost: readonly string[];
}
