import { readChatBody } from '../../convert/chat-body.ts';
import type { ChatUsage } from '../../convert/chat-usage.ts';
import { ConversionError, type Refusal } from '../../convert/conversion-error.ts';
import { type ConvertedFormat, convertedFormats } from '../../convert/converted-formats.ts';
import type { Dialect } from '../../convert/dialect.ts';
import { randomId } from '../../convert/ids.ts';
import { estimateTokens, tokenizeRequest } from '../../convert/messages-count.ts';
import { needsNative } from '../../convert/needs-native.ts';
import { type PortableState, portableState, stateOf } from '../../convert/portable-state.ts';
import { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { AssembledBody } from '../../upstream/request.ts';
import type { Inspection } from '../admission/inspect.ts';
import { type InspectOptions, inspectBody } from '../admission/inspect-body.ts';
import type { Scanned } from '../admission/json-scan.ts';
import { LongTexts } from '../conversion/long-texts.ts';
import { type ErrorCode, GatewayError } from '../errors/errors.ts';
import { decode } from './decode.ts';

/** Bytes that are transferred between threads without a copy. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** The jobs of the thread; `wish` and `result` are the messages between the threads. */
export interface Jobs {
  /** Undoes the encoding of a body. */
  readonly decode: {
    readonly wish: { readonly pieces: readonly Bytes[]; readonly encoding: string; readonly most: number };
    readonly result: Bytes | 'invalid' | 'too large';
  };
  /** Joins the pieces of a body and inspects it. */
  readonly inspect: {
    readonly wish: {
      readonly pieces: readonly Bytes[];
      readonly options: InspectOptions;
    };
    readonly result:
      | { readonly bytes: Bytes; readonly inspection: Inspection }
      | {
          readonly error: {
            readonly code: ErrorCode;
            readonly message: string;
            readonly param: string | null;
          };
        };
  };
  /** Converts a body for a node, and returns the body. */
  readonly convert: {
    readonly wish: ConvertWish & {
      readonly model: string;
      readonly dialect: Dialect;
      readonly strict: boolean;
    };
    readonly result: { readonly bytes: Bytes } & (
      | { readonly refusal: Refusal }
      | {
          /** The requests as they are sent, each distinct one once. */
          readonly texts: readonly Bytes[];
          /** For each request to the node, in order, its index in `texts`. */
          readonly chats: readonly number[];
          readonly dropped: readonly string[];
          readonly lossy: boolean;
          readonly state: PortableState;
          /** For a count of tokens. */
          readonly estimate: number | undefined;
        }
    );
  };
  /** Whether the conversion would lose something for every node. */
  readonly needsNative: {
    readonly wish: ConvertWish;
    readonly result: { readonly bytes: Bytes; readonly native: boolean };
  };
  /** Converts the answers to all choices of a request. */
  readonly reply: {
    readonly wish: {
      readonly format: ConvertedFormat;
      readonly answers: readonly Bytes[];
      readonly state: PortableState;
    };
    readonly result:
      | { readonly json: Bytes; readonly lost: readonly string[]; readonly usage: readonly ChatUsage[] }
      | { readonly fault: UpstreamFaultParts };
  };
}

export interface ConvertWish {
  readonly bytes: Bytes;
  readonly scanned: Scanned;
  readonly format: ConvertedFormat;
}

type UpstreamFaultParts = Pick<UpstreamFault, 'kind' | 'message' | 'status' | 'code' | 'type'>;

/** A result and the memory that is transferred with it. */
export interface Done<R> {
  readonly result: R;
  readonly transfer: readonly ArrayBuffer[];
}

/** What the thread does for each kind of job. Throws only for errors of the gateway's own. */
export const jobs: {
  readonly [K in keyof Jobs]: (wish: Jobs[K]['wish']) => Done<Jobs[K]['result']>;
} = {
  decode({ pieces, encoding, most }) {
    const decoded = decode(encoding, putTogether(pieces), most);
    if (typeof decoded === 'string') return { result: decoded, transfer: [] };
    const bytes = isAlone(decoded) ? decoded : new Uint8Array(decoded);
    return { result: bytes, transfer: [bytes.buffer] };
  },

  inspect({ pieces, options }) {
    const bytes = putTogether(pieces);
    try {
      const found = inspectBody(Buffer.from(bytes.buffer), options);
      const longStrings = Uint32Array.from(found.longStrings);
      return {
        result: { bytes, inspection: { ...found, longStrings } },
        transfer: [bytes.buffer, longStrings.buffer],
      };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const { code, message, param } = error;
      return { result: { error: { code, message, param } }, transfer: [] };
    }
  },

  convert({ bytes, scanned, format, model, dialect, strict }) {
    const texts = new LongTexts();
    try {
      const options = { model, dialect, strict, newId: randomId, now: Date.now, texts };
      const { chats, dropped, lossy, state } = convertedFormats[format].convert(
        texts.parse(Buffer.from(bytes.buffer), scanned),
        options,
      );
      const [first] = chats;
      const counts = format === 'count_tokens' && first !== undefined;
      const written = writeAll(counts ? [tokenizeRequest(first)] : chats, texts);
      return {
        result: {
          ...written,
          ...{ bytes, dropped, lossy, state: portableState(state) },
          estimate: counts ? estimateTokens(first) : undefined,
        },
        transfer: [bytes.buffer, ...written.texts.map(({ buffer }) => buffer)],
      };
    } catch (error) {
      if (!(error instanceof ConversionError)) throw error;
      const { status, code, param, reason, sentence, errorCode } = error;
      const refusal = {
        status,
        code,
        param,
        reason,
        sentence,
        ...(errorCode === undefined ? {} : { errorCode }),
      };
      return { result: { bytes, refusal }, transfer: [bytes.buffer] };
    }
  },

  needsNative({ bytes, scanned, format }) {
    const texts = new LongTexts();
    const body = texts.parse(Buffer.from(bytes.buffer), scanned);
    return {
      result: { bytes, native: needsNative(format, body, Date.now, texts) },
      transfer: [bytes.buffer],
    };
  },

  reply({ format, answers, state }) {
    try {
      const read = answers.map(readChatBody);
      const { json, lost } = convertedFormats[format].wayBack(stateOf(state, randomId, Date.now)).reply(read);
      const bytes = new TextEncoder().encode(json);
      return {
        result: { json: bytes, lost, usage: read.map(({ usage }) => usage) },
        transfer: [bytes.buffer],
      };
    } catch (error) {
      if (!(error instanceof UpstreamFault)) throw error;
      const { kind, message, status, code, type } = error;
      return { result: { fault: { kind, message, status, code, type } }, transfer: [] };
    }
  },
};

/** Whether these bytes have their memory alone, so that it can be transferred. */
function isAlone(bytes: Bytes): boolean {
  return bytes.length > 0 && bytes.buffer.byteLength === bytes.length;
}

function putTogether(pieces: readonly Bytes[]): Bytes {
  const [first] = pieces;
  if (pieces.length === 1 && first !== undefined && isAlone(first)) return first;
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** The requests as bytes. Equal ones (`n` of completions) are written once: each may be as large as the caller's body. */
function writeAll(
  chats: readonly object[],
  texts: LongTexts,
): { readonly texts: readonly Bytes[]; readonly chats: readonly number[] } {
  const places = new Map<string, number>();
  const written: Bytes[] = [];
  const numbers = chats.map((chat) => {
    const json = JSON.stringify(chat);
    const known = places.get(json);
    if (known !== undefined) return known;
    const place = written.push(bytesOf(texts.body(chat))) - 1;
    places.set(json, place);
    return place;
  });
  return { texts: written, chats: numbers };
}

function bytesOf(body: AssembledBody): Bytes {
  const bytes = new Uint8Array(body.length);
  body.writeTo(Buffer.from(bytes.buffer), 0);
  return bytes;
}
