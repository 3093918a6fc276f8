import type { ConvertedError } from './conversion.ts';
import type { ConversionError } from './conversion-error.ts';
import { isContextOverflow } from './upstream-error.ts';
import type { UpstreamFault } from './upstream-fault.ts';

interface OpenAIError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** A refused request in OpenAI's shape. */
export function openAIRefusal(refusal: ConversionError): ConvertedError {
  const { sentence: message, param, code, status } = refusal;
  return { status, body: { error: { message, type: 'invalid_request_error', param, code } } };
}

/** A node's failure in OpenAI's shape: `type` and `code` by status. For JSON answers and for stream events. */
export function openAIError(fault: UpstreamFault): { status: number; error: OpenAIError } {
  const { message } = fault;
  if (isContextOverflow(fault))
    return { status: 400, error: { message, ...badRequest, code: 'context_length_exceeded' } };
  const [status, type, code] = byStatus(fault);
  return { status, error: { message, type, param: null, code: keptCode(fault, status) ?? code } };
}

/** A node's failure as an HTTP answer in OpenAI's shape. */
export function openAIFailure(fault: UpstreamFault): ConvertedError {
  const { status, error } = openAIError(fault);
  return { status, body: { error } };
}

const badRequest = { type: 'invalid_request_error', param: null };

type Row = readonly [status: number, type: string, code: string];

const rows: Readonly<Record<number, Row>> = {
  // The credential is the gateway's: a caller that got 401 would log in again without success.
  401: [502, 'server_error', 'upstream_error'],
  402: [402, 'insufficient_quota', 'insufficient_quota'],
  403: [502, 'server_error', 'upstream_error'],
  404: [404, 'invalid_request_error', 'model_not_found'],
  408: [408, 'timeout_error', 'timeout'],
  409: [409, 'conflict_error', 'conflict'],
  413: [413, 'invalid_request_error', 'request_too_large'],
  422: [400, 'invalid_request_error', 'invalid_value'],
  429: [429, 'rate_limit_error', 'rate_limit_exceeded'],
  500: [500, 'server_error', 'server_error'],
  502: [502, 'server_error', 'upstream_error'],
  503: [503, 'server_error', 'service_unavailable'],
  504: [504, 'server_error', 'timeout'],
  529: [503, 'server_error', 'overloaded'],
};

function byStatus({ status }: UpstreamFault): Row {
  const row = rows[status];
  if (row !== undefined) return row;
  if (status >= 500) return [status, 'server_error', 'server_error'];
  return [status >= 400 ? status : 502, 'invalid_request_error', 'invalid_value'];
}

/** The node's own code if callers act on it: a word, of a 4xx error that is not about the credential. */
function keptCode(fault: UpstreamFault, status: number): string | undefined {
  const { code } = fault;
  return status < 500 && code !== undefined && /^[a-z][a-z_]+$/.test(code) ? code : undefined;
}
