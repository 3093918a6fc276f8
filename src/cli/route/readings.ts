import type { GatewayCircuits } from '../../routing/explain/explain.ts';
import type { CircuitState } from '../../routing/route.ts';

/** What was read of the gateways' circuits. */
export interface CircuitReadings {
  /** Undefined if no gateway could be read. */
  readonly circuits: readonly GatewayCircuits[] | undefined;
  /** What could not be read and why, in sentences for people. */
  readonly missing: readonly string[];
}

const states: ReadonlyMap<string, CircuitState> = new Map(
  Object.entries<CircuitState>({ open: 'open', half_open: 'probe' }),
);

/**
 * The circuits in a gateway's `/metrics` (`modelgateway_circuit_state`); those that it does not name are closed. A series
 * without a model means the whole node.
 */
export function readCircuits(gateway: string, metrics: string): GatewayCircuits {
  const found = new Map<string, CircuitState>();
  for (const [, labels = '', value] of metrics.matchAll(/^modelgateway_circuit_state\{(.*)\} (\S+)$/gm)) {
    const { node = '', model = '', state = '' } = labelsOf(labels);
    const meaning = states.get(state);
    if (meaning !== undefined && Number(value) > 0) found.set(keyOf(node, model), meaning);
  }
  return {
    gateway,
    state(node, model) {
      const both = [found.get(keyOf(node, '')), found.get(keyOf(node, model))];
      return both.includes('open') ? 'open' : both.includes('probe') ? 'probe' : 'closed';
    },
  };
}

function keyOf(node: string, model: string): string {
  return JSON.stringify([node, model]);
}

function labelsOf(text: string): Record<string, string> {
  const found = text.matchAll(/([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g);
  return Object.fromEntries([...found].map(([, name = '', value = '']) => [name, unescaped(value)]));
}

function unescaped(value: string): string {
  return value.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}
