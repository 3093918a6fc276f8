import { Counter, type Registry } from 'prom-client';
import type { Log } from '../log.ts';

interface Exporter<Data> {
  export(data: Data, done: (result: { code: number; error?: Error }) => void): void;
}

/** Registers `modelgateway_otlp_exports_total`. */
export function createExportCounter(registry: Registry): ExportCounter {
  return new Counter({
    name: 'modelgateway_otlp_exports_total',
    help: 'Exports to an OTLP collector, by signal and result (success, error).',
    labelNames: ['signal', 'result'],
    registers: [registry],
  });
}

type ExportCounter = Counter<'signal' | 'result'>;

/**
 * Counts exports. Logs the first of consecutive failures and the success that ends them: a collector that is unreachable for
 * hours makes two lines. Returns a function that wraps an exporter.
 */
export function watchExports(
  log: Log,
  total: ExportCounter,
): <Watched extends Exporter<never>>(signal: 'traces' | 'metrics', exporter: Watched) => Watched {
  return (signal, exporter) => {
    for (const result of ['success', 'error']) total.inc({ signal, result }, 0);
    let failing = false;
    const inner = exporter.export.bind(exporter);
    exporter.export = (data, done) => {
      inner(data, (result) => {
        const good = result.code === 0;
        total.inc({ signal, result: good ? 'success' : 'error' });
        if (good && failing) log.info({ signal }, 'The collector accepts telemetry again');
        if (!good && !failing)
          log.warn(
            { signal, err: result.error },
            'Telemetry could not be exported; later failures are counted only',
          );
        failing = !good;
        done(result);
      });
    };
    return exporter;
  };
}
