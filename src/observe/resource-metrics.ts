import type { Registry } from 'prom-client';
import { registerCollected, type Sample } from './collected-metric.ts';

/** The state of a node, from its spec and its status. */
export interface NodeStanding {
  /** `namespace/name`. */
  readonly node: string;
  readonly phase: string;
  readonly enabled: boolean;
  /** Models that are enabled. */
  readonly models: number;
  /** When its models were last synced, in milliseconds since 1970; undefined: never. */
  readonly syncedAtMs: number | undefined;
}

/** How many objects of a kind have a Ready condition of this status and reason. */
export interface ReadyCount {
  readonly kind: string;
  readonly ready: string;
  readonly reason: string;
  readonly count: number;
}

/** When a key expires. */
export interface KeyExpiry {
  readonly kind: string;
  /** `namespace/name`. */
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

/** Registers the controller's metrics of the resources themselves. The sources are read at each scrape. */
export function registerResourceMetrics(
  registry: Registry,
  nodes: () => Iterable<NodeStanding>,
  ready: () => Iterable<ReadyCount>,
  expiries: () => Iterable<KeyExpiry>,
): void {
  const perNode = (
    name: string,
    help: string,
    labelNames: readonly string[],
    samples: (standing: NodeStanding) => Sample | undefined,
  ): void =>
    registerCollected(registry, { name, help, type: 'gauge', labelNames }, function* (): Iterable<Sample> {
      for (const standing of nodes()) {
        const sample = samples(standing);
        if (sample !== undefined) yield sample;
      }
    });
  perNode(
    'modelgateway_node_phase',
    'Always 1; the labels say in which phase the node is (idle, ready, error, offline) and whether it is enabled.',
    ['node', 'phase', 'enabled'],
    ({ node, phase, enabled }) => ({ labels: { node, phase, enabled: String(enabled) }, value: 1 }),
  );
  perNode('modelgateway_node_models', 'Enabled models of the node.', ['node'], ({ node, models }) => ({
    labels: { node },
    value: models,
  }));
  perNode(
    'modelgateway_node_last_sync_timestamp_seconds',
    'When the node’s models were last synced.',
    ['node'],
    ({ node, syncedAtMs }) =>
      syncedAtMs === undefined ? undefined : { labels: { node }, value: syncedAtMs / 1000 },
  );
  registerCollected(
    registry,
    {
      name: 'modelgateway_resources',
      help: 'Resources by their Ready condition.',
      type: 'gauge',
      labelNames: ['kind', 'ready', 'reason'],
    },
    function* () {
      for (const { kind, ready: status, reason, count } of ready())
        yield { labels: { kind, ready: status, reason }, value: count };
    },
  );
  registerCollected(
    registry,
    {
      name: 'modelgateway_key_expiration_timestamp_seconds',
      help: 'When an enabled key expires: of the keys that live longer than seven days, the 1,000 that expire first.',
      type: 'gauge',
      labelNames: ['kind', 'key'],
    },
    function* () {
      for (const { kind, key, expiresAtMs } of expiries())
        yield { labels: { kind, key }, value: expiresAtMs / 1000 };
    },
  );
}
