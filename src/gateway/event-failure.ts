import { isObject, type JsonObject, objectOf } from '../convert/json.ts';
import { safeMessage } from '../convert/safe-message.ts';
import { UpstreamFault } from '../convert/upstream-fault.ts';
import type { CallerFormat } from '../routing/caller-format.ts';
import type { Failure } from './failure.ts';

/** The HTTP status that an error in a stream stands for, by its `type` or `code`. */
const statusOfWord: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_prompt: 400,
  context_length_exceeded: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** An error that came as the first word of a stream (its `data`), as the HTTP error that it should have been. */
export function eventFailure(format: CallerFormat, data: string): Failure {
  const error = errorOf(data);
  const status = statusOf(error);
  const type = typeof error['type'] === 'string' ? error['type'] : 'server_error';
  const message = typeof error['message'] === 'string' ? error['message'] : 'The model server failed.';
  const code = error['code'] === undefined || error['code'] === null ? null : String(error['code']);
  const body =
    format === 'messages'
      ? { type: 'error', error: { type: type in statusOfWord ? type : 'api_error', message } }
      : { error: { message, type, param: error['param'] ?? null, code } };
  return { kind: 'event', status, body: JSON.stringify(body), fault: faultOf(status, message, type, code) };
}

function faultOf(status: number, message: string, type: string, code: string | null): UpstreamFault {
  return new UpstreamFault('reported', safeMessage(message), { status, type, code: code ?? undefined });
}

function errorOf(data: string): JsonObject {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    return { message: 'The model server sent an event that is not JSON.' };
  }
  const response = objectOf(objectOf(event)['response']);
  const error = objectOf(event)['error'] ?? response['error'];
  if (isObject(error)) return error;
  if (typeof error === 'string') return { message: error };
  return objectOf(event);
}

function statusOf(error: JsonObject): number {
  const code = Number(error['code']);
  if (code >= 400 && code < 600) return code;
  const words = [error['code'], error['type']].map(String);
  const known = words.find((word) => Object.hasOwn(statusOfWord, word));
  return (known === undefined ? undefined : statusOfWord[known]) ?? 502;
}
