import type { CircuitMetrics } from '../../observe/circuit-metrics.ts';
import type { Log } from '../../observe/log.ts';
import type { CircuitListener } from './circuits.ts';

/** One circuit is logged at most once in this time. */
const quietMs = 30_000;
/** Circuits remembered. */
const mostTold = 10_000;

/** Logs and counts when circuits open and close. `clock` is monotonic, in milliseconds. */
export function circuitLog(log: Log, clock: () => number, counters: CircuitMetrics): CircuitListener {
  const toldAt = new Map<string, number>();
  const open = new Set<string>();
  return {
    opened({ node, model, why, seconds }) {
      counters.opened(node);
      const id = `${node} ${model ?? ''}`;
      const last = toldAt.get(id);
      if (last !== undefined && clock() - last < quietMs) return;
      if (toldAt.size >= mostTold) {
        toldAt.clear();
        open.clear();
      }
      toldAt.set(id, clock());
      open.add(id);
      log.warn(
        { node, ...(model === undefined ? {} : { model }), why, seconds: Math.max(1, Math.round(seconds)) },
        'A circuit opened: until it closes the node is asked last',
      );
    },
    closed({ node, model }) {
      if (!open.delete(`${node} ${model ?? ''}`)) return;
      log.info(
        { node, ...(model === undefined ? {} : { model }) },
        'A circuit closed: the node answers again',
      );
    },
  };
}
