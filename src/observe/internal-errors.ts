import { Counter, type Registry } from 'prom-client';
import type { Log } from './log.ts';

/** What was being handled when an unexpected error was thrown. A closed set, because it is a label. */
export const internalErrorPlaces = [
  /** A caller's request, from its head to the choice of a node. */
  'request',
  /** A node's answer: its head, a piece, its end or its error; or writing it to the caller. */
  'answer',
  /** The record of a request that has ended: metrics, access log, span. */
  'record',
  /** A change of the resources, in one of the store's listeners. */
  'change',
  /** An object of the API server. */
  'object',
] as const;

export type InternalErrorPlace = (typeof internalErrorPlaces)[number];

/** Reports an unexpected error; the process continues. Never throws. */
export type InternalErrors = (place: InternalErrorPlace, error: unknown, requestId?: string) => void;

const name = 'modelgateway_internal_errors_total';

/** Registers `modelgateway_internal_errors_total`, once for a registry. */
export function registerInternalErrors(registry: Registry): Counter<'place'> {
  const registered = registry.getSingleMetric(name);
  if (registered instanceof Counter) return registered;
  const counter = new Counter({
    name,
    help: 'Faults of the program that were caught, by what was being handled.',
    labelNames: ['place'] as const,
    registers: [registry],
  });
  for (const place of internalErrorPlaces) counter.inc({ place }, 0);
  return counter;
}

/** Logs and counts each unexpected error. */
export function createInternalErrors(registry: Registry, log: Log): InternalErrors {
  const counter = registerInternalErrors(registry);
  return (place, error, requestId) => {
    counter.inc({ place });
    try {
      log.error(
        { err: error, place, ...(requestId === undefined ? {} : { requestId }) },
        'Failed unexpectedly; what it was handling is given up',
      );
    } catch {
      // Logging may itself throw; that must not end a process that survived the error.
    }
  };
}
