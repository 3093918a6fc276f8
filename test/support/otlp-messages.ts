import protobuf from 'protobufjs';

/**
 * The messages of OTLP that tests read: names, types and numbers of their fields, under the names of the protocol's own
 * definitions (opentelemetry.proto.*.v1). `npm run test:telemetry` compares them with those.
 */
export const otlpMessages: Readonly<
  Record<string, Readonly<Record<string, readonly [type: string, id: number]>>>
> = {
  AnyValue: {
    string_value: ['string', 1],
    bool_value: ['bool', 2],
    int_value: ['int64', 3],
    double_value: ['double', 4],
    array_value: ['ArrayValue', 5],
  },
  ArrayValue: { values: ['repeated AnyValue', 1] },
  KeyValue: { key: ['string', 1], value: ['AnyValue', 2] },
  InstrumentationScope: { name: ['string', 1], version: ['string', 2] },
  Resource: { attributes: ['repeated KeyValue', 1] },
  ExportTraceServiceRequest: { resource_spans: ['repeated ResourceSpans', 1] },
  ResourceSpans: { resource: ['Resource', 1], scope_spans: ['repeated ScopeSpans', 2] },
  ScopeSpans: { scope: ['InstrumentationScope', 1], spans: ['repeated Span', 2] },
  Span: {
    trace_id: ['bytes', 1],
    span_id: ['bytes', 2],
    trace_state: ['string', 3],
    parent_span_id: ['bytes', 4],
    name: ['string', 5],
    kind: ['int32', 6],
    start_time_unix_nano: ['fixed64', 7],
    end_time_unix_nano: ['fixed64', 8],
    attributes: ['repeated KeyValue', 9],
    status: ['Status', 15],
  },
  Status: { message: ['string', 2], code: ['int32', 3] },
  ExportMetricsServiceRequest: { resource_metrics: ['repeated ResourceMetrics', 1] },
  ResourceMetrics: { resource: ['Resource', 1], scope_metrics: ['repeated ScopeMetrics', 2] },
  ScopeMetrics: { scope: ['InstrumentationScope', 1], metrics: ['repeated Metric', 2] },
  Metric: {
    name: ['string', 1],
    description: ['string', 2],
    unit: ['string', 3],
    gauge: ['Gauge', 5],
    sum: ['Sum', 7],
    histogram: ['Histogram', 9],
  },
  Gauge: { data_points: ['repeated NumberDataPoint', 1] },
  Sum: {
    data_points: ['repeated NumberDataPoint', 1],
    aggregation_temporality: ['int32', 2],
    is_monotonic: ['bool', 3],
  },
  Histogram: { data_points: ['repeated HistogramDataPoint', 1], aggregation_temporality: ['int32', 2] },
  NumberDataPoint: {
    start_time_unix_nano: ['fixed64', 2],
    time_unix_nano: ['fixed64', 3],
    as_double: ['double', 4],
    as_int: ['sfixed64', 6],
    attributes: ['repeated KeyValue', 7],
  },
  HistogramDataPoint: {
    start_time_unix_nano: ['fixed64', 2],
    time_unix_nano: ['fixed64', 3],
    count: ['fixed64', 4],
    sum: ['double', 5],
    bucket_counts: ['repeated fixed64', 6],
    explicit_bounds: ['repeated double', 7],
    attributes: ['repeated KeyValue', 9],
  },
};

const root = protobuf.Root.fromJSON({
  nested: Object.fromEntries(
    Object.entries(otlpMessages).map(([message, fields]) => [
      message,
      {
        fields: Object.fromEntries(
          Object.entries(fields).map(([name, [type, id]]) => {
            const [last = '', rule] = type.split(' ').toReversed();
            return [name, { type: last, id, ...(rule === undefined ? {} : { rule }) }];
          }),
        ),
      },
    ]),
  ),
});

/** Decodes a message into plain objects: 64-bit numbers as numbers, bytes as hexadecimal text. */
export function decodeOtlp(message: keyof typeof otlpMessages & string, bytes: Uint8Array): unknown {
  const type = root.lookupType(message);
  return readable(type.toObject(type.decode(bytes), { longs: Number, defaults: false }));
}

function readable(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, readable(inner)]));
}
