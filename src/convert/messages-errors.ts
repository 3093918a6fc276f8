import type { ConvertedError } from './conversion.ts';
import type { ConversionError } from './conversion-error.ts';
import { isContextOverflow } from './upstream-error.ts';
import type { UpstreamFault } from './upstream-fault.ts';

/** A refused request in Anthropic's shape: `messages.0.content: Field required`. The gateway adds `request_id`. */
export function messagesRefusal({ status, param, reason, errorCode }: ConversionError): ConvertedError {
  const path = param?.replaceAll(/\[(\d+)\]/g, '.$1');
  const type = status === 404 ? 'not_found_error' : 'invalid_request_error';
  const message = path === undefined ? reason : `${path}: ${reason}`;
  const details = errorCode === undefined ? {} : { details: { error_code: errorCode } };
  return { status, body: { type: 'error', error: { type, message, ...details } } };
}

/** A node's failure as an HTTP answer in Anthropic's shape. */
export function messagesFailure(fault: UpstreamFault): ConvertedError {
  const { status, error } = messagesError(fault);
  return anthropicError(status, error.type, error.message);
}

/** A node's failure in Anthropic's shape, for JSON answers and for `event: error`. */
export function messagesError(fault: UpstreamFault): {
  status: number;
  error: { readonly type: string; readonly message: string };
} {
  if (isContextOverflow(fault)) {
    // Claude Code compacts its conversation when the text begins so.
    const message = /^prompt is too long/.test(fault.message)
      ? fault.message
      : `prompt is too long: ${fault.message}`;
    return { status: 400, error: { type: 'invalid_request_error', message } };
  }
  const [status, type] = rows[fault.status] ?? fallback(fault.status);
  return { status, error: { type, message: fault.message } };
}

type Row = readonly [status: number, type: string];

const rows: Readonly<Record<number, Row>> = {
  // The credential is the gateway's: a caller that got 401 would log in again without success.
  401: [502, 'api_error'],
  402: [402, 'billing_error'],
  403: [502, 'api_error'],
  404: [404, 'not_found_error'],
  408: [408, 'timeout_error'],
  409: [409, 'conflict_error'],
  413: [413, 'request_too_large'],
  422: [400, 'invalid_request_error'],
  429: [429, 'rate_limit_error'],
  503: [529, 'overloaded_error'],
  504: [504, 'timeout_error'],
  529: [529, 'overloaded_error'],
};

function fallback(status: number): Row {
  if (status >= 500 && status <= 599) return [status, 'api_error'];
  return status >= 400 && status <= 499 ? [status, 'invalid_request_error'] : [502, 'api_error'];
}

function anthropicError(status: number, type: string, message: string): ConvertedError {
  return { status, body: { type: 'error', error: { type, message } } };
}
