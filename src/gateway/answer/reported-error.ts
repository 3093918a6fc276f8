import { isObject, objectOf, parseJson } from '../../convert/json.ts';
import { readReportedError } from '../../convert/upstream-error.ts';
import { UpstreamFault } from '../../convert/upstream-fault.ts';

/** An `error` member that is not null. Text of a model has its quotes escaped (`\"error\"`), so it does not match. */
const error = /"error"(?!\s*:\s*null)/;

/** Whether an answer of status 200 may report an error, by its first piece. */
export function mayReportError(piece: Buffer, longest: number): boolean {
  return piece.length <= longest && piece.includes('"error"') && error.test(piece.toString('latin1'));
}

/**
 * The fault that an error event of a stream reports in its `data`: in `error`, in `response.error` (`response.failed`), in
 * `error` of a choice, or by its own members.
 */
export function eventFault(data: string): UpstreamFault {
  const event = parseJson(data);
  if (!isObject(event)) {
    return new UpstreamFault('malformed', 'The model server sent an event that is not a JSON object.');
  }
  const choices = Array.isArray(event['choices']) ? event['choices'].slice(0, 1) : [];
  for (const holder of [event, objectOf(event['response']), ...choices]) {
    const fault = readReportedError(holder);
    if (fault !== undefined) return fault;
  }
  return readReportedError({ error: event }) ?? new UpstreamFault('reported', 'The model server failed.');
}
