import { STATUS_CODES } from 'node:http';
import { isObject, type JsonObject, listOf, parseJson, textOf } from './json.ts';
import { safeMessage } from './safe-message.ts';
import { UpstreamFault } from './upstream-fault.ts';

/**
 * Reads the body of a node's HTTP error: `{error:{…}}`, `{error:"text"}`, `{object:"error",message}`,
 * FastAPI's `{detail}`, Google's list, numeric codes. HTML, an empty body and anything else give the status text.
 */
export function readUpstreamError(status: number, body: string): UpstreamFault {
  const said = errorIn(parseJson(body));
  const message = said === undefined ? '' : messageOf(said);
  return new UpstreamFault('reported', message === '' ? statusText(status) : message, {
    status,
    code: said === undefined ? undefined : codeOf(said),
    type: said === undefined ? undefined : textOf(said['type']) || undefined,
  });
}

/** The fault that a chunk or a body of status 200 reports in `error`; undefined if it reports none. */
export function readReportedError(body: unknown): UpstreamFault | undefined {
  const holder = Array.isArray(body) ? body[0] : body;
  if (!isObject(holder) || !isSet(holder['error'])) return undefined;
  const said = errorIn(holder) ?? {};
  const message = messageOf(said) || 'The model server reported an error.';
  const code = codeOf(said);
  const type = textOf(said['type']) || undefined;
  return new UpstreamFault('reported', message, { status: statusOf(code, type), code, type });
}

/** Statuses for a prompt that is too long. Not 429, where "too many tokens" means a rate limit. 502 is used for stream errors without a status. */
const overflowStatuses: ReadonlySet<number> = new Set([400, 413, 422, 500, 502]);

/** Whether a fault says that the prompt does not fit into the model's context. */
export function isContextOverflow(fault: UpstreamFault): boolean {
  if (fault.code === 'context_length_exceeded' || fault.type === 'exceed_context_size_error') return true;
  if (!overflowStatuses.has(fault.status)) return false;
  return /maximum context length|context (?:window|length|size)|prompt is too long|exceeds? the (?:available )?context|too many (?:input )?tokens|input is too long/i.test(
    fault.message,
  );
}

function errorIn(body: unknown): JsonObject | undefined {
  const holder: unknown = Array.isArray(body) ? body[0] : body;
  if (!isObject(holder)) return undefined;
  const { error } = holder;
  if (isObject(error)) return error;
  if (typeof error === 'string' && error !== '') return { ...holder, message: error };
  if (typeof holder['message'] === 'string' || isSet(holder['detail'])) return holder;
  return undefined;
}

function messageOf(said: JsonObject): string {
  const direct = textOf(said['message']) || textOf(said['detail']);
  if (direct !== '') return safeMessage(direct);
  const details = listOf(said['detail']).slice(0, 8).filter(isObject).map(validationMessage);
  return safeMessage(details.filter((text) => text !== '').join('; '));
}

/** FastAPI: `{loc:["body","messages",0], msg}`. */
function validationMessage(item: JsonObject): string {
  const where = listOf(item['loc'])
    .filter((part) => typeof part === 'string' || typeof part === 'number')
    .join('.');
  const message = textOf(item['msg']);
  return where === '' ? message : `${where}: ${message}`;
}

function codeOf(said: JsonObject): string | undefined {
  const { code, status } = said;
  if (typeof code === 'string' && code !== '') return safeMessage(code).slice(0, 100);
  if (typeof code === 'number') return String(code);
  return typeof status === 'string' && status !== '' ? safeMessage(status).slice(0, 100) : undefined;
}

/** A Map, because a node's word may be the name of a member that every object has. */
const statusOfWord: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['invalid_prompt', 400],
  ['context_length_exceeded', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['rate_limit_exceeded', 429],
  ['insufficient_quota', 429],
  ['too_many_requests', 429],
  ['resource_exhausted', 429],
  ['api_error', 500],
  ['server_error', 500],
  ['overloaded_error', 503],
  ['overloaded', 503],
  ['service_unavailable', 503],
  ['unavailable', 503],
  ['timeout', 504],
  ['timeout_error', 504],
]);

function statusOf(code: string | undefined, type: string | undefined): number | undefined {
  const number = Number(code);
  if (Number.isInteger(number) && number >= 400 && number <= 599) return number;
  return statusOfWord.get(code?.toLowerCase() ?? '') ?? statusOfWord.get(type?.toLowerCase() ?? '');
}

function statusText(status: number): string {
  return `The model server answered ${status} ${STATUS_CODES[status] ?? ''}`.trim();
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== '';
}
