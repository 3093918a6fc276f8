import type { ConvertedError } from '../../convert/conversion.ts';
import { ConversionError } from '../../convert/conversion-error.ts';
import { type Converted, type ConvertedFormat, convertedFormats } from '../../convert/converted-formats.ts';
import type { Dialect } from '../../convert/dialect.ts';
import { randomId } from '../../convert/ids.ts';
import { estimateTokens, tokenizeRequest } from '../../convert/messages-count.ts';
import { needsNative } from '../../convert/needs-native.ts';
import { stateOf } from '../../convert/portable-state.ts';
import type { UpstreamFault } from '../../convert/upstream-fault.ts';
import { dialectOf } from '../../routing/candidate-dialect.ts';
import type { Candidate } from '../../store/store.ts';
import type { AssembledBody } from '../../upstream/request.ts';
import type { BufferShare } from '../admission/buffer-budget.ts';
import type { Scanned } from '../admission/json-scan.ts';
import { GatewayError } from '../errors/errors.ts';
import type { Jobs } from '../thread/jobs.ts';
import { LongTexts } from './long-texts.ts';

/** The names of conversions. They are constants, because each counter would hash a text that is built for each request. */
const names = {
  messages: 'messages->chat',
  responses: 'responses->chat',
  completions: 'completions->chat',
  tokenize: 'count_tokens->tokenize',
  estimate: 'count_tokens->estimate',
} as const;

/** The name of a conversion, such as `messages->chat`. */
export type ConversionName = (typeof names)[keyof typeof names];

/** Every name that a conversion may have. */
export const conversionNames: readonly ConversionName[] = Object.values(names);

const nothing: Scanned = { longStrings: [], oddNumbers: false };

/** The caller's body. */
interface Source {
  readonly size: number;
  readonly bytes: Buffer;
}

type ConvertedElsewhere = Exclude<Jobs['convert']['result'], { readonly refusal: unknown }>;

const noBytes = new Uint8Array();
const noMessages = { model: '', messages: [] };

function allSent(): never {
  throw new Error('every chat request was sent already');
}

/** A body that is converted counts this often more in memory: parsed, and as it is sent. */
const copies = 2;

/**
 * The conversions of one request. Each is made from the caller's body, which is parsed once, when the first node needs it.
 * Requests that are passed through have none.
 */
export class Conversion {
  readonly format: ConvertedFormat;
  /** The opening of a stream that was already sent to the caller; the stream of another node continues it. */
  opened: unknown;
  /** Whether the caller has got the head of a converted stream: from then on every attempt is converted. */
  begun = false;
  name: ConversionName;
  readonly strict: boolean;
  readonly scanned: Scanned;
  readonly #now: () => number;
  readonly #share: BufferShare;
  #held: number;
  #source: Source | undefined;
  #body: unknown;
  #current: Converted | undefined;
  #texts = new LongTexts();
  /** The result of the thread: the requests as they are sent, and its count of tokens. */
  #written: Uint8Array[] | undefined;
  #estimate: number | undefined;

  /**
   * `share` bounds the memory; without room for this request GatewayError is thrown. `scanned` is the inspection's result
   * for `source`, whose bytes are read when they are first needed.
   */
  constructor(
    format: ConvertedFormat,
    source: Source,
    options: {
      readonly strict: boolean;
      readonly now: () => number;
      readonly share: BufferShare;
      readonly scanned?: Scanned;
    },
  ) {
    this.#share = options.share;
    this.#held = source.size * copies;
    const refused = this.#share.take(this.#held);
    if (refused !== undefined) throw refused;
    this.format = format;
    this.name = format === 'count_tokens' ? names.estimate : names[format];
    this.#source = source;
    this.strict = options.strict;
    this.#now = options.now;
    this.scanned = options.scanned ?? nothing;
  }

  /**
   * Converts the request for this candidate; `current` is the result. Returns why it cannot be converted. Throws
   * GatewayError for a body that is not JSON.
   */
  prepare(candidate: Candidate): ConversionError | undefined {
    try {
      const dialect = dialectOf(candidate);
      this.#current = this.#convert(candidate.model, dialect, this.strict);
      this.#written = undefined;
      this.#nameCount(dialect);
      return undefined;
    } catch (error) {
      if (error instanceof ConversionError) return error;
      throw error;
    }
  }

  /** The request as last converted. */
  get current(): Converted {
    if (this.#current === undefined) throw new Error('no request was converted yet');
    return this.#current;
  }

  /** Whether requests to the node are not written yet: a stream of several choices sends one after the other. */
  get isUnsent(): boolean {
    return (this.#written ?? this.#current?.chats ?? []).length > 0;
  }

  /** Takes the thread's conversion of the request for this candidate. */
  take(candidate: Candidate, { texts, chats, dropped, lossy, state, estimate }: ConvertedElsewhere): void {
    const back = convertedFormats[this.format].wayBack(stateOf(state, randomId, this.#now));
    this.#current = { choices: chats.length, chats: [], dropped, lossy, state, ...back };
    this.#written = chats.map((place) => texts[place] ?? noBytes);
    this.#estimate = estimate;
    this.#nameCount(dialectOf(candidate));
  }

  /** The next request to the node, as it is sent. Throws if all were sent. */
  takeNext(): Uint8Array | AssembledBody {
    if (this.#written !== undefined) return this.#written.shift() ?? allSent();
    return this.#texts.body(this.current.chats.shift() ?? allSent());
  }

  /** The request that asks a node to count the tokens. */
  tokenizeBody(): Uint8Array {
    const [written] = this.#written ?? [];
    return written ?? Buffer.from(JSON.stringify(tokenizeRequest(this.current.chats[0] ?? noMessages)));
  }

  /** The gateway's estimate of the tokens. */
  estimate(): number {
    const [chat] = this.current.chats;
    return this.#estimate ?? (chat === undefined ? 1 : estimateTokens(chat));
  }

  /** `x-model-gateway-conversion` and `-dropped`, flat. The paths are bounded and printable already. */
  get headers(): readonly string[] {
    const { dropped } = this.current;
    const headers = ['x-model-gateway-conversion', this.name];
    if (dropped.length > 0) headers.push('x-model-gateway-dropped', dropped.join(', '));
    return headers;
  }

  /** Whether this is a count of tokens that the candidate's node cannot do. */
  estimates(candidate: Candidate): boolean {
    return this.format === 'count_tokens' && !dialectOf(candidate).tokenize;
  }

  /** Whether the conversion would lose something, or refuse the request, for every node. */
  needsNative(): boolean {
    return needsNative(this.format, this.#parsed(), this.#now, this.#texts);
  }

  refusal(error: ConversionError): ConvertedError {
    return convertedFormats[this.format].refusal(error);
  }

  /** The error events of a stream that only has keep-alives. */
  failedStream(fault: UpstreamFault): string {
    return this.#current?.stream(0, this.opened).fail(fault).join('') ?? '';
  }

  /** Frees the body: a stream may run long after it was sent. Nothing can be written then. May be called twice. */
  release(): void {
    this.#share.give(this.#held);
    this.#held = 0;
    this.#source = undefined;
    this.#body = undefined;
    this.#written = undefined;
    this.#texts = new LongTexts();
  }

  #nameCount(dialect: Dialect): void {
    if (this.format === 'count_tokens') this.name = dialect.tokenize ? names.tokenize : names.estimate;
  }

  #convert(model: string, dialect: Dialect, strict: boolean): Converted {
    const body = this.#parsed();
    const options = { model, dialect, strict, newId: randomId, now: this.#now, texts: this.#texts };
    return convertedFormats[this.format].convert(body, options);
  }

  #parsed(): unknown {
    if (this.#source === undefined) return this.#body;
    try {
      this.#body = this.#texts.parse(this.#source.bytes, this.scanned);
    } catch {
      throw new GatewayError('invalid_json', 'The request body is not valid JSON.');
    }
    this.#source = undefined;
    return this.#body;
  }
}
