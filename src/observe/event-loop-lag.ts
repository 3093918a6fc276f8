import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';

/** How often the event loop is sampled, in milliseconds. Each sample wakes an idle process. */
const everyMs = 100;

/** The times between samples, in nanoseconds. */
type Times = ReturnType<typeof monitorEventLoopDelay>;

const statistics: Readonly<Record<string, (times: Times) => number>> = {
  min: ({ min }) => lateness(min),
  max: ({ max }) => lateness(max),
  mean: ({ mean }) => lateness(mean),
  stddev: ({ stddev }) => stddev,
  p50: (times) => lateness(times.percentile(50)),
  p90: (times) => lateness(times.percentile(90)),
  p99: (times) => lateness(times.percentile(99)),
};

/**
 * Registers `nodejs_eventloop_lag_*_seconds` since the previous scrape. They replace prom-client's metrics of the same names,
 * which sample every 10 ms, report these 10 ms as lag, and cost an idle process 1 % of a core.
 */
export function replaceEventLoopLag(registry: Registry): void {
  const times = monitorEventLoopDelay({ resolution: everyMs });
  times.enable();
  const readings: (() => void)[] = [];
  const collect = () => {
    for (const read of readings) read();
    times.reset();
  };
  for (const [statistic, value] of Object.entries(statistics)) {
    const name = `nodejs_eventloop_lag_${statistic}_seconds`;
    registry.removeSingleMetric(name);
    const help = `Event loop delays since the scrape before: ${statistic}.`;
    // The registry collects the first metric first: it reads the values for all.
    const first = readings.length === 0 ? { collect } : {};
    const gauge = new Gauge({ name, help, registers: [registry], ...first });
    readings.push(() => gauge.set(times.count === 0 ? 0 : value(times) / 1e9));
  }
}

function lateness(nanoseconds: number): number {
  return Math.max(0, nanoseconds - everyMs * 1e6);
}
