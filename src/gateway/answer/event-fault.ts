import { isObject, objectOf, parseJson } from '../../convert/json.ts';
import { readReportedError } from '../../convert/upstream-error.ts';
import { UpstreamFault } from '../../convert/upstream-fault.ts';

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
