import { Counter, Gauge, type Registry } from 'prom-client';

/** What a gateway counts of its own GatewayReport. */
export interface ReportMetrics {
  /** Begins the series. */
  begin(): void;
  /** It was written, at a time in milliseconds since 1970. */
  written(atMs: number): void;
  failed(): void;
}

/** Registers the `modelgateway_report_*` metrics. */
export function createReportMetrics(registry: Registry): ReportMetrics {
  const registers = [registry];
  const written = new Gauge({
    name: 'modelgateway_report_written_timestamp_seconds',
    help: 'When the GatewayReport of this gateway was last written, in seconds since 1970; 0 before the first.',
    registers,
  });
  const failures = new Counter({
    name: 'modelgateway_report_failures_total',
    help: 'Writes of the GatewayReport of this gateway that failed; the gateway serves on.',
    registers,
  });
  return {
    begin() {
      written.set(0);
      failures.inc(0);
    },
    written: (atMs) => written.set(atMs / 1_000),
    failed: () => failures.inc(),
  };
}
