import { isObject, parseJson } from '../../convert/json.ts';
import { messagesFailure } from '../../convert/messages-errors.ts';
import { openAIFailure } from '../../convert/openai-errors.ts';
import { readUpstreamError } from '../../convert/upstream-error.ts';
import type { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { UpstreamHeaders } from '../../upstream/headers.ts';
import type { ErrorShape } from './wire-errors.ts';

/** Whether a node's error body has the shape that the caller reads, so that it can be sent unchanged. */
export function isOwnShape(shape: ErrorShape, headers: UpstreamHeaders, body: Buffer): boolean {
  const said = parseJson(textOf(headers, body));
  if (!isObject(said) || !isObject(said['error'])) return false;
  const { type, message } = said['error'];
  if (typeof message !== 'string') return false;
  return shape === 'openai' || (said['type'] === 'error' && typeof type === 'string');
}

/** Reads a node's error answer. `body` is undefined if it was too long or did not arrive in time. */
export function nodeFault(
  status: number,
  headers: UpstreamHeaders | undefined,
  body: Buffer | undefined,
): UpstreamFault {
  const isReadable = headers !== undefined && body !== undefined;
  return readUpstreamError(status, isReadable ? textOf(headers, body) : '');
}

/** A fault in the shape that the caller reads. */
export function faultBody(
  shape: ErrorShape,
  fault: UpstreamFault,
  requestId: string,
): { readonly status: number; readonly body: string } {
  if (shape === 'openai') {
    const { status, body } = openAIFailure(fault);
    return { status, body: JSON.stringify(body) };
  }
  const { status, body } = messagesFailure(fault);
  return { status, body: JSON.stringify({ ...body, request_id: requestId }) };
}

/** Empty if the body has a content-encoding: none was asked for. */
function textOf(headers: UpstreamHeaders, body: Buffer): string {
  return headers.isEncoded ? '' : body.toString('utf8');
}
