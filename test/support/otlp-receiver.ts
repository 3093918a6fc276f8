import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeOtlp } from './otlp-messages.ts';

export type Attributes = Readonly<Record<string, unknown>>;

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** '' for a root. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: 'server' | 'client' | number;
  readonly attributes: Attributes;
  readonly failed: boolean;
  readonly milliseconds: number;
  readonly resource: Attributes;
}

export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly type: 'sum' | 'gauge' | 'histogram';
  readonly points: readonly {
    readonly attributes: Attributes;
    readonly value: number;
    readonly count: number;
    readonly buckets: readonly number[];
    readonly bounds: readonly number[];
  }[];
  readonly resource: Attributes;
}

/** A collector for tests: takes OTLP over HTTP as protobuf, and remembers what came. */
export interface OtlpReceiver {
  readonly origin: string;
  readonly spans: ReceivedSpan[];
  /** The last export's. */
  metrics: readonly ReceivedMetric[];
  /** Everything received, as bytes. */
  readonly bodies: Buffer[];
  readonly headers: Readonly<Record<string, unknown>>[];
  /** What the next requests get: this status, or no answer at all. */
  answer: number | 'nothing';
  close(): Promise<void>;
}

interface Any {
  readonly [name: string]: unknown;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const receiver = {
    origin: '',
    spans: [],
    metrics: [],
    bodies: [],
    headers: [],
    answer: 200,
  } as unknown as {
    -readonly [K in keyof OtlpReceiver]: OtlpReceiver[K];
  };
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces);
      receiver.bodies.push(body);
      receiver.headers.push(request.headers);
      if (receiver.answer === 'nothing') return;
      if (receiver.answer === 200 && request.url === '/v1/traces') receiver.spans.push(...readSpans(body));
      if (receiver.answer === 200 && request.url === '/v1/metrics') receiver.metrics = readMetrics(body);
      response.writeHead(receiver.answer, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  receiver.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  receiver.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return receiver;
}

function readSpans(body: Buffer): ReceivedSpan[] {
  const { resource_spans: resources } = decodeOtlp('ExportTraceServiceRequest', body) as {
    resource_spans: { resource: Any; scope_spans: { spans: Any[] }[] }[];
  };
  return resources.flatMap(({ resource, scope_spans: scopes }) =>
    scopes.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: String(span['trace_id']),
        spanId: String(span['span_id']),
        parentId: String(span['parent_span_id'] ?? ''),
        name: String(span['name']),
        kind: span['kind'] === 2 ? 'server' : span['kind'] === 3 ? 'client' : Number(span['kind']),
        attributes: attributesOf(span['attributes']),
        failed: (span['status'] as Any | undefined)?.['code'] === 2,
        milliseconds: (Number(span['end_time_unix_nano']) - Number(span['start_time_unix_nano'])) / 1e6,
        resource: attributesOf(resource['attributes']),
      })),
    ),
  );
}

function readMetrics(body: Buffer): ReceivedMetric[] {
  const { resource_metrics: resources } = decodeOtlp('ExportMetricsServiceRequest', body) as {
    resource_metrics: { resource: Any; scope_metrics: { metrics: Any[] }[] }[];
  };
  return resources.flatMap(({ resource, scope_metrics: scopes }) =>
    scopes.flatMap(({ metrics }) =>
      metrics.map((metric) => {
        const type =
          (['sum', 'gauge', 'histogram'] as const).find((one) => metric[one] !== undefined) ?? 'gauge';
        const { data_points: points = [] } = metric[type] as { data_points?: Any[] };
        return {
          name: String(metric['name']),
          unit: String(metric['unit'] ?? ''),
          type,
          resource: attributesOf(resource['attributes']),
          points: points.map((point) => ({
            attributes: attributesOf(point['attributes']),
            value: Number(point['as_double'] ?? point['as_int'] ?? point['sum'] ?? 0),
            count: Number(point['count'] ?? 0),
            buckets: (point['bucket_counts'] ?? []) as number[],
            bounds: (point['explicit_bounds'] ?? []) as number[],
          })),
        };
      }),
    ),
  );
}

function attributesOf(list: unknown): Attributes {
  const pairs = (list ?? []) as { key: string; value: Any }[];
  return Object.fromEntries(pairs.map(({ key, value }) => [key, plainOf(value)]));
}

function plainOf(value: Any): unknown {
  const array = value['array_value'] as { values?: Any[] } | undefined;
  if (array !== undefined) return (array.values ?? []).map(plainOf);
  return value['string_value'] ?? value['int_value'] ?? value['double_value'] ?? value['bool_value'];
}
