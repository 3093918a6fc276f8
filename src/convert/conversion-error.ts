/** What is wrong with a request, without the place. `type` faults name the expected and the actual type. */
export interface Refusal {
  /** HTTP status; 400 if absent. */
  readonly status?: number;
  /** The code of OpenAI's error shape, such as `invalid_type` or `missing_required_parameter`. */
  readonly code: string;
  /** Path of the field, as `messages[0].content`; null if no field is the cause. */
  readonly param: string | null;
  /** The fault in Anthropic's words, without the path: `Field required`. */
  readonly reason: string;
  /** The fault in OpenAI's words, with the path, as a sentence. If absent, one is made of code and reason. */
  readonly sentence?: string;
  /** What a program reads in Anthropic's shape: `error.details.error_code`. */
  readonly errorCode?: string;
}

/**
 * A request that the conversion refuses before any node is contacted. Each format turns it into its vendor's own
 * body; `reason` and `sentence` quote nothing but field names and short values of the caller's own request.
 */
export class ConversionError extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string | null;
  readonly reason: string;
  readonly sentence: string;
  readonly errorCode: string | undefined;

  constructor(refusal: Refusal) {
    const { param, reason } = refusal;
    super(param === null ? reason : `${param}: ${reason}`);
    this.name = 'ConversionError';
    this.status = refusal.status ?? 400;
    this.code = refusal.code;
    this.param = param;
    this.reason = reason;
    this.sentence = refusal.sentence ?? sentenceOf(refusal.code, param, reason);
    this.errorCode = refusal.errorCode;
  }
}

function sentenceOf(code: string, param: string | null, reason: string): string {
  const ended = /[.!?]$/.test(reason) ? reason : `${reason}.`;
  if (param === null) return ended;
  if (code === 'missing_required_parameter') return `Missing required parameter: '${param}'.`;
  return `Invalid value for '${param}': ${ended}`;
}
