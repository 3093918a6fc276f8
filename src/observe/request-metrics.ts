import { Gauge, type Registry } from 'prom-client';
import { distributionSamples, registerCollected, type Sample, totalSamples } from './collected-metric.ts';
import type { Distribution } from './distribution.ts';
import { RequestCounts } from './request-counts.ts';
import type { RequestRecord } from './request-record.ts';
import { createRouteMeter, type RouteMeter } from './route-meter.ts';

/** The gateway's request metrics. */
export interface RequestMetrics {
  /** The meter of a route; always the same object. Routes come from a closed set. */
  route(route: string): RouteMeter;
  /** A request has ended. */
  record(meter: RouteMeter, request: RequestRecord): void;
  /** A node failed, and another one is tried. `reason` comes from the declared set. */
  failedOver(reason: string): void;
  /** Removes the series of a deleted node. */
  forget(node: string): void;
  /** The closed sets that labels come from: their series begin at 0, so that the first one counts in a rate. */
  declare(sets: DeclaredSets): void;
  /** Registers the source that is read at each scrape. */
  observe(gauges: { readonly inFlight: () => number }): void;
}

interface DeclaredSets {
  readonly routes: Iterable<string>;
  /** Names of the gateway's own errors. */
  readonly errors: Iterable<string>;
  /** The errors among them that refuse a key. */
  readonly keyRefusals: ReadonlySet<string>;
  readonly failoverReasons: Iterable<string>;
}

/** The gateway's own metrics. Labels are bounded: if there are too many models, further ones count as `other`. */
export function createRequestMetrics(registry: Registry): RequestMetrics {
  const counts = new RequestCounts();
  const meters = new Map<string, RouteMeter>();
  const errors = new Map<string, number>();
  const failovers = new Map<string, number>();
  let keyRefusals: ReadonlySet<string> = new Set();

  const route = (name: string): RouteMeter => {
    const known = meters.get(name);
    if (known !== undefined) return known;
    const made = createRouteMeter(name);
    meters.set(name, made);
    return made;
  };
  registerCounts(registry, counts, route);
  registerMeters(registry, meters);
  registerSet(registry, 'failovers_total', 'Attempts that failed and after which another node was tried.', {
    label: 'reason',
    read: () => failovers,
  });
  registerSet(registry, 'errors_total', 'Errors of the gateway’s own that callers got.', {
    label: 'error',
    read: () => errors,
  });
  registerSet(registry, 'key_refusals_total', 'Requests refused because of their key.', {
    label: 'reason',
    read: () => [...errors].filter(([error]) => keyRefusals.has(error)),
  });

  return {
    route,
    record(meter, request) {
      const { durationMs, firstContentMs, status, tokens, errorCode } = request;
      counts.add(request);
      meter.durations.observe(durationMs / 1000);
      meter.attempts += request.attempts;
      meter.bytesIn += request.bytesIn;
      meter.bytesOut += request.bytesOut;
      if (status === 499) meter.cancelled += 1;
      if (firstContentMs !== undefined) meter.firstContents.observe(firstContentMs / 1000);
      if (tokens !== undefined) {
        meter.inputTokens.observe(tokens.input);
        meter.outputTokens.observe(tokens.output);
      }
      if (errorCode !== undefined) errors.set(errorCode, (errors.get(errorCode) ?? 0) + 1);
    },
    failedOver: (reason) => void failovers.set(reason, (failovers.get(reason) ?? 0) + 1),
    forget: (node) => counts.forget(node),
    declare(sets) {
      for (const name of sets.routes) route(name);
      for (const error of sets.errors) errors.set(error, errors.get(error) ?? 0);
      for (const reason of sets.failoverReasons) failovers.set(reason, failovers.get(reason) ?? 0);
      keyRefusals = sets.keyRefusals;
    },
    observe({ inFlight }) {
      new Gauge({
        name: 'modelgateway_requests_in_flight',
        help: 'Requests that are being answered now.',
        registers: [registry],
        collect() {
          this.set(inFlight());
        },
      });
    },
  };
}

function registerCounts(
  registry: Registry,
  counts: RequestCounts,
  meter: (route: string) => RouteMeter,
): void {
  registerCollected(
    registry,
    {
      name: 'modelgateway_requests_total',
      help: 'Requests answered, by route, the caller’s format, model, node and HTTP status (499: the caller left).',
      type: 'counter',
      labelNames: ['route', 'format', 'model', 'node', 'code'],
    },
    function* (): Iterable<Sample> {
      for (const [{ route, model, node, code }, value] of counts.read())
        yield { labels: { route, format: meter(route).format, model, node, code }, value };
    },
  );
  registerCollected(
    registry,
    {
      name: 'modelgateway_tokens_total',
      help: 'Tokens that nodes reported. input holds cached_input, output holds reasoning.',
      type: 'counter',
      labelNames: ['model', 'node', 'type'],
    },
    function* (): Iterable<Sample> {
      for (const { model, node, input, output, cached, reasoning } of counts.models()) {
        if (input === 0 && output === 0) continue;
        yield { labels: { model, node, type: 'input' }, value: input };
        yield { labels: { model, node, type: 'output' }, value: output };
        yield { labels: { model, node, type: 'cached_input' }, value: cached };
        yield { labels: { model, node, type: 'reasoning' }, value: reasoning };
      }
    },
  );
  const summary = (name: string, help: string): Parameters<typeof registerCollected>[1] => ({
    name,
    help,
    type: 'summary',
    labelNames: ['node'],
  });
  const duration = summary(
    'modelgateway_node_request_duration_seconds',
    'Duration of requests by the node that served them last.',
  );
  registerCollected(registry, duration, function* (): Iterable<Sample> {
    for (const { node, seconds, requests } of counts.nodes())
      yield* totalSamples(duration.name, { node }, seconds, requests);
  });
  const firstContent = summary(
    'modelgateway_node_time_to_first_content_seconds',
    'Time to the first content of streams, by the node that served them.',
  );
  registerCollected(registry, firstContent, function* (): Iterable<Sample> {
    for (const { node, firstContentSeconds, streams } of counts.nodes())
      if (streams > 0) yield* totalSamples(firstContent.name, { node }, firstContentSeconds, streams);
  });
}

function registerMeters(registry: Registry, meters: ReadonlyMap<string, RouteMeter>): void {
  const labelNames = ['route'];
  const total = (
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    read: (meter: RouteMeter) => number,
  ) =>
    registerCollected(registry, { name: `modelgateway_${name}`, help, type, labelNames }, function* () {
      for (const meter of meters.values()) yield { labels: { route: meter.route }, value: read(meter) };
    });
  const histogram = (name: string, help: string, read: (meter: RouteMeter) => Distribution) =>
    registerCollected(
      registry,
      { name: `modelgateway_${name}`, help, type: 'histogram', labelNames },
      function* () {
        for (const meter of meters.values())
          yield* distributionSamples(`modelgateway_${name}`, { route: meter.route }, read(meter));
      },
    );
  total(
    'counter',
    'attempts_total',
    'Attempts on nodes, the first of each request and those after a failure.',
    (meter) => meter.attempts,
  );
  total('counter', 'received_bytes_total', 'Bytes of request bodies, decoded.', (meter) => meter.bytesIn);
  total('counter', 'sent_bytes_total', 'Bytes of answers’ bodies.', (meter) => meter.bytesOut);
  total(
    'counter',
    'cancelled_requests_total',
    'Requests whose caller left before the answer was complete.',
    (meter) => meter.cancelled,
  );
  total('gauge', 'open_streams', 'Streams whose content is flowing now.', (meter) => meter.openStreams);
  histogram(
    'request_duration_seconds',
    'Time from the request head to the last byte of the answer.',
    (meter) => meter.durations,
  );
  histogram(
    'time_to_first_content_seconds',
    'Time from the request head to the first content of a stream, failovers included.',
    (meter) => meter.firstContents,
  );
  histogram(
    'stream_gap_seconds',
    'Time between two pieces of a stream’s content, as they go to the caller.',
    (meter) => meter.gaps,
  );
  registerCollected(
    registry,
    {
      name: 'modelgateway_request_tokens',
      help: 'Tokens of a request, if its node reported them.',
      type: 'histogram',
      labelNames: ['route', 'type'],
    },
    function* () {
      for (const { route, inputTokens, outputTokens } of meters.values()) {
        yield* distributionSamples('modelgateway_request_tokens', { route, type: 'input' }, inputTokens);
        yield* distributionSamples('modelgateway_request_tokens', { route, type: 'output' }, outputTokens);
      }
    },
  );
}

function registerSet(
  registry: Registry,
  name: string,
  help: string,
  { label, read }: { label: string; read: () => Iterable<readonly [string, number]> },
): void {
  registerCollected(
    registry,
    { name: `modelgateway_${name}`, help, type: 'counter', labelNames: [label] },
    function* () {
      for (const [text, value] of read()) yield { labels: { [label]: text }, value };
    },
  );
}
