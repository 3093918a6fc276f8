import { describe, expect, test } from 'vitest';
import { readOtlpSettings } from '../../../src/observe/otlp-settings.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const read = (env: Record<string, string>) => readOtlpSettings(env);

describe('what is exported', () => {
  test.each<[Record<string, string>, boolean, boolean]>([
    [{}, false, false],
    [{ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_EXPORTER: 'otlp' }, false, false],
    [endpoint, true, true],
    [{ ...endpoint, OTEL_SDK_DISABLED: 'TRUE' }, false, false],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }, false, true],
    [{ ...endpoint, OTEL_METRICS_EXPORTER: 'none', OTEL_TRACES_EXPORTER: 'console,otlp' }, true, false],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://x' }, true, false],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' }, true, true],
    [
      {
        ...endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
      },
      true,
      false,
    ],
  ])('%j: traces %s, metrics %s', (env, traces, metrics) => {
    const { settings } = read(env);
    expect([settings?.traces ?? false, settings?.metrics ?? false]).toEqual([traces, metrics]);
  });
});

test('without more the specification’s defaults are in force', () => {
  expect(read(endpoint)).toEqual({
    problems: [],
    settings: {
      traces: true,
      metrics: true,
      sampler: { name: 'parentbased_always_on', ratio: 1 },
      metricIntervalMs: 60_000,
      metricTimeoutMs: 30_000,
      batch: { delayMs: 5_000, timeoutMs: 30_000, queueSize: 2_048, batchSize: 512 },
      exportTimeoutMs: 5_000,
    },
  });
});

test.each<[Record<string, string>, object]>([
  [
    { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
    { sampler: { name: 'traceidratio', ratio: 0.25 } },
  ],
  [{ OTEL_TRACES_SAMPLER_ARG: '0' }, { sampler: { name: 'parentbased_always_on', ratio: 0 } }],
  [{ OTEL_METRIC_EXPORT_INTERVAL: '1000' }, { metricIntervalMs: 1_000, metricTimeoutMs: 1_000 }],
  [
    { OTEL_BSP_MAX_QUEUE_SIZE: '100' },
    { batch: expect.objectContaining({ queueSize: 100, batchSize: 100 }) },
  ],
  [{ OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '9' }, { exportTimeoutMs: undefined }],
])('%j', (env, expected) => {
  const { settings, problems } = read({ ...endpoint, ...env });
  expect(settings).toMatchObject(expected);
  expect(problems).toEqual([]);
});

test.each<[Record<string, string>, RegExp]>([
  [
    { OTEL_TRACES_SAMPLER: 'jaeger_remote' },
    /^OTEL_TRACES_SAMPLER: "jaeger_remote" is not known; use one of always_on,/,
  ],
  [{ OTEL_TRACES_SAMPLER_ARG: '2' }, /ARG: 2 is more than 1/],
  [{ OTEL_TRACES_SAMPLER_ARG: '-1' }, /ARG: "-1" is not a number of 0 or more; 1 is used/],
  [{ OTEL_METRIC_EXPORT_INTERVAL: '0' }, /INTERVAL: "0" is not a number of 1 or more; 60000 is used/],
  [{ OTEL_BSP_SCHEDULE_DELAY: '5s' }, /DELAY: "5s" is not/],
  [{ OTEL_TRACES_EXPORTER: 'zipkin' }, /OTEL_TRACES_EXPORTER: "zipkin" is not known; use otlp or none/],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /"grpc" is not spoken here; use http\/protobuf/],
])('%j is told', (env, problem) => {
  expect(read({ ...endpoint, ...env }).problems[0]).toMatch(problem);
});
