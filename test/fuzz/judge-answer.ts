import type { Reply } from '../soak/ask.ts';
import type { TrafficCase } from './type-traffic.ts';

/** Longest time for an answer, on the busiest machine; a case waits for nothing. */
const owedMs = 20_000;

/** What is wrong with the gateway's answer to a case; undefined when it is one of the documented ones. */
export function judgeAnswer(asked: TrafficCase, reply: Reply, milliseconds: number): string | undefined {
  const { status, text, end, headers } = reply;
  if (milliseconds > owedMs) return `it took ${Math.round(milliseconds)} ms`;
  if (end !== 'whole') return `the answer was ${end} after ${text.length} bytes: ${text.slice(-300)}`;
  if (text.includes('internal_error') || text.includes('its log says why'))
    return `its own error: ${text.slice(0, 500)}`;
  const type = String(headers['content-type'] ?? '');
  if (status === 200 || status === 201) {
    if (!asked.converted) return undefined;
    return type.startsWith('text/event-stream') ? wrongEvents(text) : wrongJson(text);
  }
  if (status < 400) return `it answered ${status}`;
  if (!type.startsWith('application/json')) return `${status} with content-type ${type}`;
  return wrongJson(text) ?? wrongError(text, asked.path);
}

function wrongJson(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return `no JSON: ${text.slice(0, 300)}`;
  }
}

/** Errors go out in the caller's form, and one of the node's goes out as it came only if it has that form. */
function wrongError(text: string, path: string): string | undefined {
  const body = JSON.parse(text) as { type?: unknown; error?: { type?: unknown; message?: unknown } } | null;
  const isAnthropic = path.startsWith('/v1/messages');
  const error = body?.error;
  const named = !isAnthropic || (body?.type === 'error' && typeof error?.type === 'string');
  return named && typeof error?.message === 'string'
    ? undefined
    : `no error of its form: ${text.slice(0, 300)}`;
}

/** Whole events alone, each with data that is JSON or `[DONE]`. */
function wrongEvents(text: string): string | undefined {
  if (!text.endsWith('\n\n')) return `an event is not whole: ${text.slice(-200)}`;
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith(':') || line.startsWith('event: ') || line === 'data: [DONE]')
      continue;
    if (!line.startsWith('data: ')) return `not a line of an event: ${line.slice(0, 200)}`;
    const wrong = wrongJson(line.slice(6));
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}
