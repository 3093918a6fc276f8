/** What one entry of the catalogue says: HTTP status, OpenAI `type` and `code`, Anthropic `type`. */
interface CatalogueEntry {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly anthropicType: string;
  /** The status in the Anthropic shape, if it differs. */
  readonly anthropicStatus?: number;
  /** Seconds after which a caller should try again; sent as `retry-after`. */
  readonly retryAfterSeconds?: number;
}

const badRequest = { status: 400, type: 'invalid_request_error', anthropicType: 'invalid_request_error' };
const badKey = {
  status: 401,
  type: 'authentication_error',
  code: 'invalid_api_key',
  anthropicType: 'authentication_error',
};
const forbidden = { status: 403, type: 'permission_error', anthropicType: 'permission_error' };
const busy = {
  status: 503,
  type: 'server_error',
  anthropicType: 'overloaded_error',
  anthropicStatus: 529,
  retryAfterSeconds: 1,
};
const badGateway = { status: 502, type: 'server_error', anthropicType: 'api_error' };

/** Every error that the gateway raises by itself. Closed: nothing else may reach a caller. */
const catalogue = {
  invalid_json: { ...badRequest, code: 'invalid_json' },
  invalid_multipart: { ...badRequest, code: 'invalid_multipart' },
  invalid_encoding: { ...badRequest, code: 'invalid_encoding' },
  invalid_value: { ...badRequest, code: 'invalid_value' },
  missing_parameter: { ...badRequest, code: 'missing_required_parameter' },
  unknown_parameter: { ...badRequest, code: 'unknown_parameter' },
  unsupported_parameter: { ...badRequest, code: 'unsupported_parameter' },
  malformed_request: { ...badRequest, code: null },
  key_missing: badKey,
  key_mistyped: badKey,
  key_unknown: badKey,
  key_disabled: badKey,
  key_expired: badKey,
  key_wrong_kind: { ...forbidden, code: 'wrong_key_kind' },
  model_not_allowed: { ...forbidden, code: 'model_not_allowed' },
  model_disabled: { ...forbidden, code: 'model_disabled' },
  store_forbidden: { ...forbidden, code: null },
  model_not_found: {
    status: 404,
    type: 'invalid_request_error',
    code: 'model_not_found',
    anthropicType: 'not_found_error',
  },
  key_not_found: {
    status: 404,
    type: 'invalid_request_error',
    code: 'key_not_found',
    anthropicType: 'not_found_error',
  },
  unknown_path: { status: 404, type: 'invalid_request_error', code: null, anthropicType: 'not_found_error' },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    code: null,
    anthropicType: 'invalid_request_error',
  },
  request_timeout: {
    status: 408,
    type: 'timeout_error',
    code: 'request_timeout',
    anthropicType: 'timeout_error',
  },
  conflict: { status: 409, type: 'conflict_error', code: 'conflict', anthropicType: 'conflict_error' },
  request_too_large: {
    status: 413,
    type: 'invalid_request_error',
    code: 'request_too_large',
    anthropicType: 'request_too_large',
  },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    code: 'unsupported_media_type',
    anthropicType: 'invalid_request_error',
  },
  expectation_failed: {
    status: 417,
    type: 'invalid_request_error',
    code: null,
    anthropicType: 'invalid_request_error',
  },
  key_share_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    anthropicType: 'rate_limit_error',
    retryAfterSeconds: 1,
  },
  nodes_busy: {
    status: 429,
    type: 'rate_limit_error',
    code: 'nodes_busy',
    anthropicType: 'rate_limit_error',
    retryAfterSeconds: 5,
  },
  headers_too_large: {
    status: 431,
    type: 'invalid_request_error',
    code: 'headers_too_large',
    anthropicType: 'invalid_request_error',
  },
  internal: { status: 500, type: 'server_error', code: 'internal_error', anthropicType: 'api_error' },
  upstream_error: { ...badGateway, code: 'upstream_error' },
  upstream_credential: { ...badGateway, code: 'upstream_error' },
  store_unavailable: { ...busy, code: 'service_unavailable' },
  no_node_available: { ...busy, code: 'service_unavailable', retryAfterSeconds: 5 },
  gateway_busy: { ...busy, code: 'service_unavailable' },
  upstream_timeout: { status: 504, type: 'server_error', code: 'timeout', anthropicType: 'timeout_error' },
  loop_detected: { status: 508, type: 'server_error', code: 'loop_detected', anthropicType: 'api_error' },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;

/** The name of every error. */
export const errorCodes = Object.keys(catalogue) as readonly ErrorCode[];

/** The errors that refuse the caller's key. */
export const keyRefusals: ReadonlySet<ErrorCode> = new Set([
  'key_missing',
  'key_mistyped',
  'key_unknown',
  'key_disabled',
  'key_expired',
  'key_wrong_kind',
  'model_not_allowed',
]);

/** An error of the catalogue on its way to the caller. `message` is shown as it is: never a credential or an address. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  /** The field of the request that is wrong, for the OpenAI shape's `param`. */
  readonly param: string | null;

  constructor(code: ErrorCode, message: string, options?: { param?: string | null; cause?: unknown }) {
    super(message, { cause: options?.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.param = options?.param ?? null;
  }

  /** The catalogue's entry of this error. */
  get entry(): CatalogueEntry {
    return catalogue[this.code];
  }
}

const longestText = 256;

/** A caller's text, shortened for an error message. */
export function shorten(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text;
}
