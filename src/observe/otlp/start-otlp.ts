import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Registry } from 'prom-client';
import type { Log } from '../log.ts';
import type { OtlpSettings } from '../otlp-settings.ts';
import type { Tracing } from '../tracing.ts';
import { createExportCounter, watchExports } from './export-watch.ts';
import { createMetricProducer } from './metric-producer.ts';
import { createRequestSpans } from './request-spans.ts';
import { createSampler } from './sampler.ts';

/** The running export of telemetry. */
export interface Otlp {
  /** Undefined if traces are off. */
  readonly tracing: Tracing | undefined;
  /** Sends what is still buffered, for at most 5 s. Never rejects. */
  close(): Promise<void>;
}

/** Most metric points in one request: composing a larger one would delay streams. */
const mostPoints = 2_000;
/** Longest wait for a collector at the end of the process. */
const closeMs = 5_000;

/**
 * Exports traces and the metrics of `registry` by OTLP (http/protobuf). Endpoint, headers, certificates and compression
 * are read from the OTEL_EXPORTER_OTLP_* variables by the exporters themselves. Throws what they throw for an endpoint
 * that is no URL.
 */
export function startOtlp(options: {
  readonly settings: OtlpSettings;
  readonly registry: Registry;
  readonly log: Log;
  readonly version: string;
  readonly role: string;
  readonly instance: string;
  readonly now: () => number;
}): Otlp {
  const { settings, registry, log, version, now } = options;
  const resource = resourceOf(options);
  const watch = watchExports(log, createExportCounter(registry));
  // Our own agents, so that connections to a collector that hangs can be closed at the end.
  const agents: HttpAgent[] = [];
  const exporterOptions = {
    ...(settings.exportTimeoutMs === undefined ? {} : { timeoutMillis: settings.exportTimeoutMs }),
    httpAgentOptions: (protocol: string) => {
      const agent =
        protocol === 'https:' ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
      agents.push(agent);
      return agent;
    },
  };
  const closings: (() => Promise<void>)[] = [];
  let tracing: Tracing | undefined;
  if (settings.traces) {
    const { delayMs, timeoutMs, queueSize, batchSize } = settings.batch;
    const provider = new TracerProvider({
      resource,
      sampler: createSampler(settings.sampler),
      // Long enough for the names of manifests.
      spanLimits: { attributeValueLengthLimit: 512 },
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: watch('traces', new OTLPTraceExporter(exporterOptions)),
          scheduledDelayMillis: delayMs,
          exportTimeoutMillis: timeoutMs,
          maxQueueSize: queueSize,
          maxExportBatchSize: batchSize,
        }),
      ],
    });
    tracing = createRequestSpans(provider.getTracer('model-gateway', version));
    closings.push(() => provider.shutdown());
  }
  if (settings.metrics) {
    const reader = new PeriodicExportingMetricReader({
      exporter: watch('metrics', new OTLPMetricExporter(exporterOptions)),
      exportIntervalMillis: settings.metricIntervalMs,
      exportTimeoutMillis: settings.metricTimeoutMs,
      maxExportBatchSize: mostPoints,
      metricProducers: [createMetricProducer(registry, { version, startMs: now(), now })],
    });
    const provider = new MeterProvider({ resource, readers: [reader] });
    closings.push(() => provider.shutdown());
  }
  return {
    tracing,
    async close() {
      const late = new AbortController();
      const ended = Promise.allSettled(closings.map((close) => close())).then(() => 'ended' as const);
      const outcome = await Promise.race([
        ended,
        delay(closeMs, 'late' as const, { signal: late.signal }).catch(() => 'ended' as const),
      ]);
      late.abort();
      if (outcome === 'late') log.warn('Discarded telemetry because the collector did not accept it in time');
      for (const agent of agents) agent.destroy();
    },
  };
}

function resourceOf({
  version,
  role,
  instance,
}: {
  readonly version: string;
  readonly role: string;
  readonly instance: string;
}): Resource {
  const own = resourceFromAttributes({
    'service.name': 'model-gateway',
    'service.version': version,
    'service.instance.id': instance,
    'modelgateway.role': role,
  });
  return own.merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
}
