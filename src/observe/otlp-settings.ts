/** Where and how telemetry is exported, from the OTEL_* variables. */
export interface OtlpSettings {
  readonly traces: boolean;
  readonly metrics: boolean;
  readonly sampler: { readonly name: SamplerName; readonly ratio: number };
  readonly metricIntervalMs: number;
  readonly metricTimeoutMs: number;
  readonly batch: {
    readonly delayMs: number;
    readonly timeoutMs: number;
    readonly queueSize: number;
    readonly batchSize: number;
  };
  /** Timeout of one export; undefined if the exporters read it from a variable of their own. */
  readonly exportTimeoutMs: number | undefined;
}

const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplerNames)[number];

/** Less than the specification's 10 s, because an export that hangs delays the end of the process. */
const exportTimeoutMs = 5_000;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads OpenTelemetry's standard variables. Telemetry is exported only if an endpoint is set; otherwise `settings` is
 * undefined. `problems` lists values that could not be read; the specification's default is used in their place.
 */
export function readOtlpSettings(env: Env): {
  readonly settings: OtlpSettings | undefined;
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  if (isTrue(env['OTEL_SDK_DISABLED'])) return { settings: undefined, problems };
  const isOn = (signal: 'TRACES' | 'METRICS'): boolean => {
    if (!has(env, `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) && !has(env, 'OTEL_EXPORTER_OTLP_ENDPOINT'))
      return false;
    const exporter = env[`OTEL_${signal}_EXPORTER`]?.trim() || 'otlp';
    if (exporter === 'none') return false;
    if (!exporter.split(',').includes('otlp')) {
      problems.push(`OTEL_${signal}_EXPORTER: ${shown(exporter)} is not known; use otlp or none.`);
      return false;
    }
    const protocol =
      env[`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`]?.trim() || env['OTEL_EXPORTER_OTLP_PROTOCOL']?.trim();
    if (protocol === undefined || protocol === '' || protocol === 'http/protobuf') return true;
    problems.push(
      `OTEL_EXPORTER_OTLP_PROTOCOL: ${shown(protocol)} is not spoken here; use http/protobuf, and the collector's port for it (4318).`,
    );
    return false;
  };
  const number = (name: string, otherwise: number, least = 1): number => {
    const text = Object.hasOwn(env, name) ? env[name]?.trim() : undefined;
    if (text === undefined || text === '') return otherwise;
    const value = Number(text);
    if (/^\d{1,12}(?:\.\d+)?$/.test(text) && value >= least) return value;
    problems.push(`${name}: ${shown(text)} is not a number of ${least} or more; ${otherwise} is used.`);
    return otherwise;
  };
  const traces = isOn('TRACES');
  const metrics = isOn('METRICS');
  if (!traces && !metrics) return { settings: undefined, problems };
  const metricIntervalMs = number('OTEL_METRIC_EXPORT_INTERVAL', 60_000);
  const queueSize = number('OTEL_BSP_MAX_QUEUE_SIZE', 2_048);
  const hasTimeout = Object.keys(env).some((name) =>
    /^OTEL_EXPORTER_OTLP_(?:TRACES_|METRICS_)?TIMEOUT$/.test(name),
  );
  return {
    settings: {
      traces,
      metrics,
      sampler: samplerOf(env, number, problems),
      metricIntervalMs,
      metricTimeoutMs: Math.min(metricIntervalMs, number('OTEL_METRIC_EXPORT_TIMEOUT', 30_000)),
      batch: {
        delayMs: number('OTEL_BSP_SCHEDULE_DELAY', 5_000),
        timeoutMs: number('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
        queueSize,
        batchSize: Math.min(queueSize, number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512)),
      },
      exportTimeoutMs: hasTimeout ? undefined : exportTimeoutMs,
    },
    problems,
  };
}

function samplerOf(
  env: Env,
  number: (name: string, otherwise: number, least: number) => number,
  problems: string[],
): OtlpSettings['sampler'] {
  const text = env['OTEL_TRACES_SAMPLER']?.trim() || 'parentbased_always_on';
  const ratio = number('OTEL_TRACES_SAMPLER_ARG', 1, 0);
  const name = samplerNames.find((known) => known === text);
  if (name !== undefined && ratio <= 1) return { name, ratio };
  problems.push(
    name === undefined
      ? `OTEL_TRACES_SAMPLER: ${shown(text)} is not known; use one of ${samplerNames.join(', ')}.`
      : `OTEL_TRACES_SAMPLER_ARG: ${ratio} is more than 1; 1 is used.`,
  );
  return { name: name ?? 'parentbased_always_on', ratio: 1 };
}

function has(env: Env, name: string): boolean {
  return Object.hasOwn(env, name) && (env[name]?.trim() ?? '') !== '';
}

function isTrue(text: string | undefined): boolean {
  return text?.trim().toLowerCase() === 'true';
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
