/**
 * A call to the API server that did not succeed.
 *
 * `status` is the HTTP status, or 0 if there was no usable answer; `reason` is the server's own word (`NotFound`,
 * `Conflict`, `Expired` …) or, with status 0, one of ours: `Unreachable`, `Timeout`, `Interrupted`,
 * `ResponseTooLarge`, `InvalidResponse`, `CredentialsUnavailable`. Branch on these two, never on the message, which
 * may quote what was sent.
 */
export class ApiError extends Error {
  readonly status: number;
  readonly reason: string;
  /** How long the server asked to wait, in milliseconds; undefined if it did not. */
  readonly retryAfterMs: number | undefined;
  /** The server's own explanations, one for each field. They may quote what was sent. */
  readonly causes: readonly ErrorCause[];

  constructor(
    status: number,
    reason: string,
    message: string,
    options: {
      retryAfterMs?: number | undefined;
      cause?: unknown;
      causes?: readonly ErrorCause[];
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
    this.causes = options.causes ?? [];
  }
}

/** One entry of a `Status` object's `details.causes`; a missing member is an empty text. */
export interface ErrorCause {
  /** `FieldValueInvalid`, `FieldManagerConflict` … */
  readonly reason: string;
  readonly field: string;
  readonly message: string;
}

interface StatusObject {
  code?: unknown;
  reason?: unknown;
  message?: unknown;
  details?: { retryAfterSeconds?: unknown; causes?: Partial<Record<keyof ErrorCause, unknown>>[] };
}

/**
 * Reads a Kubernetes `Status` object, from an error response or an ERROR event of a watch, into an ApiError.
 *
 * @param status HTTP status; undefined takes the object's own `code`
 * @param body the parsed object, or undefined when the answer was not JSON (a proxy's error page)
 * @param retryAfter the `Retry-After` header, seconds or a date
 */
export function statusError(status: number | undefined, body: unknown, retryAfter?: string): ApiError {
  const object: StatusObject = typeof body === 'object' && body !== null ? body : {};
  const code = status ?? (typeof object.code === 'number' ? object.code : 500);
  const causes = Array.isArray(object.details?.causes) ? object.details.causes : [];
  // Only the cause tells a resourceVersion from the future (after a restore of etcd) from other answers of 504.
  const tooLarge = causes.some((cause) => cause?.reason === 'ResourceVersionTooLarge');
  const named = typeof object.reason === 'string' && object.reason !== '' ? object.reason : `HTTP${code}`;
  const message =
    typeof object.message === 'string' && object.message !== ''
      ? object.message
      : `the API server answered ${code}`;
  return new ApiError(code, tooLarge ? 'ResourceVersionTooLarge' : named, message, {
    causes: causes.map((cause) => ({
      reason: textOf(cause?.reason),
      field: textOf(cause?.field),
      message: textOf(cause?.message),
    })),
    retryAfterMs: retryAfterMs(retryAfter) ?? secondsToMs(object.details?.retryAfterSeconds),
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

function secondsToMs(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined;
}

/** Whether the API server refused the call because a permission is missing. */
export function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}
