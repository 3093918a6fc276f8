import { Registry } from 'prom-client';
import { type AttemptMetrics, createAttemptMetrics } from './attempt-metrics.ts';
import { type CircuitMetrics, createCircuitMetrics } from './circuit-metrics.ts';
import { type ConversionMetrics, createConversionMetrics } from './conversion-metrics.ts';
import { createInternalErrors, type InternalErrors } from './internal-errors.ts';
import { createLoadMetrics, type LoadMetrics } from './load-metrics.ts';
import type { Log } from './log.ts';
import { createRequestMetrics, type RequestMetrics } from './request-metrics.ts';
import { createThreadMetrics, type ThreadMetrics } from './thread-metrics.ts';

/** Everything that the traffic side counts. */
export interface TrafficMetrics {
  readonly requests: RequestMetrics;
  readonly attempts: AttemptMetrics;
  readonly circuits: CircuitMetrics;
  readonly loads: LoadMetrics;
  readonly conversions: ConversionMetrics;
  readonly threads: ThreadMetrics;
  /** Unexpected errors of the program, which are also logged. */
  readonly internalErrors: (log: Log) => InternalErrors;
}

/** Registers all of them; without a registry they are counted but not exposed. */
export function createTrafficMetrics(registry: Registry = new Registry()): TrafficMetrics {
  return {
    requests: createRequestMetrics(registry),
    attempts: createAttemptMetrics(registry),
    circuits: createCircuitMetrics(registry),
    loads: createLoadMetrics(registry),
    conversions: createConversionMetrics(registry),
    threads: createThreadMetrics(registry),
    internalErrors: (log) => createInternalErrors(registry, log),
  };
}
