import { isObject, parseJson } from '../../convert/json.ts';
import { messagesFailure } from '../../convert/messages-errors.ts';
import { openAIFailure } from '../../convert/openai-errors.ts';
import { readUpstreamError } from '../../convert/upstream-error.ts';
import type { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { UpstreamHeaders } from '../../upstream/headers.ts';
import type { ErrorShape } from './wire-errors.ts';

/** Whether a node's error body is what the caller's family of clients reads, so that it may go out as it came. */
export function isOwnShape(shape: ErrorShape, headers: UpstreamHeaders, body: Buffer): boolean {
  const said = parseJson(textOf(headers, body));
  if (!isObject(said) || !isObject(said['error'])) return false;
  const { type, message } = said['error'];
  if (typeof message !== 'string') return false;
  return shape === 'openai' || (said['type'] === 'error' && typeof type === 'string');
}

/** What a node means by an error answer. `body` is undefined when it is too long or did not come in time. */
export function nodeFault(
  status: number,
  headers: UpstreamHeaders | undefined,
  body: Buffer | undefined,
): UpstreamFault {
  const isReadable = headers !== undefined && body !== undefined;
  return readUpstreamError(status, isReadable ? textOf(headers, body) : '');
}

/** The same in the words of the caller's family. */
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

/** Empty where the body is in an encoding that was not asked for. */
function textOf(headers: UpstreamHeaders, body: Buffer): string {
  return headers.isEncoded ? '' : body.toString('utf8');
}
