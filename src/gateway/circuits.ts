import type { OpenCircuit } from '../observe/circuit-metrics.ts';
import type { CircuitState, CircuitStates } from '../routing/route.ts';

/**
 * Circuits of this gateway: per node for connections that fail, per node and model for 429 and 5xx. A circuit opens
 * after five failures within 30 s, or at once where the node sent Retry-After, and lets one probe through when its time
 * is over. A success takes one failure back: a node that fails four times of five is found out, one that fails once in
 * a hundred is not. Circuits live in this process alone: another gateway may reach a node that this one cannot.
 */
export interface Circuits extends CircuitStates {
  /** The node could not be reached, or the connection broke before an answer. */
  connectFailed(nodeId: string, model: string): void;
  /**
   * The node answered with this status. 429 and 5xx are failures; 408 and 409, and 401 and 403 (which are about the
   * gateway's credential), say nothing of the model; all others close what was open.
   */
  answered(nodeId: string, model: string, status: number, retryAfterSeconds?: number): void;
  /** No answer came in time, which counts as a 5xx does. */
  timedOut(nodeId: string, model: string): void;
  /**
   * An answer has begun: that closes what was half-open. Failures are taken back only by its end (`answered`), or a node
   * whose every answer breaks off would never be found out.
   */
  began(nodeId: string, model: string): void;
  /** An answer broke off after it had begun, which counts as a 5xx does. */
  broke(nodeId: string, model: string): void;
  /** An attempt ended without an outcome, because the caller left: a probe that it had claimed is free again. */
  abandoned(nodeId: string, model: string): void;
  /** The node is gone, or reached in another way: nothing of it is kept. */
  forget(nodeId: string): void;
  /** Every circuit that is not closed now, for the metrics. */
  notClosed(): Iterable<OpenCircuit>;
}

/** Hears of circuits that open and close; `model` is undefined for the circuit of a whole node. */
export interface CircuitListener {
  opened(circuit: {
    readonly node: string;
    readonly model: string | undefined;
    readonly why: string;
    readonly seconds: number;
  }): void;
  closed(circuit: { readonly node: string; readonly model: string | undefined }): void;
}

const failuresToOpen = 5;
const failureWindowMs = 30_000;
const firstOpenMs = 30_000;
const longestOpenMs = 300_000;
/** A probe without an outcome for this long is taken as lost, so that a circuit never stays open for good. */
const probeLostMs = 60_000;
const saysNothing: ReadonlySet<number> = new Set([401, 403, 408, 409]);

interface Circuit {
  /** Times of the last failures, newest last, at most `failuresToOpen`. */
  failures: number[];
  /** Infinity while closed. */
  openUntilMs: number;
  /** How long it was opened for without a Retry-After; doubles while probes fail. */
  openForMs: number;
  probeSinceMs: number | undefined;
}

interface CircuitName {
  readonly node: string;
  readonly model: string | undefined;
}

interface NodeCircuits {
  connect: Circuit | undefined;
  readonly models: Map<string, Circuit>;
}

/** `now` is a monotonic clock in milliseconds. */
export function createCircuits(now: () => number, listener?: CircuitListener): Circuits {
  const nodes = new Map<string, NodeCircuits>();

  const circuitsOf = (nodeId: string): NodeCircuits => {
    const known = nodes.get(nodeId);
    if (known !== undefined) return known;
    const made: NodeCircuits = { connect: undefined, models: new Map() };
    nodes.set(nodeId, made);
    return made;
  };
  const afterFailure = (
    before: Circuit | undefined,
    name: CircuitName,
    why: string,
    retryAfterSeconds?: number,
  ): Circuit => {
    const at = now();
    const wasOpen = stateOf(before, at) === 'open' && at < (before?.openUntilMs ?? 0);
    const circuit = failed(before, at, retryAfterSeconds);
    if (!wasOpen && circuit.openUntilMs !== Number.POSITIVE_INFINITY) {
      listener?.opened({ ...name, why, seconds: (circuit.openUntilMs - at) / 1000 });
    }
    return circuit;
  };
  const modelFailed = (node: string, model: string, why: string, retryAfterSeconds?: number): void => {
    const { models } = circuitsOf(node);
    models.set(model, afterFailure(models.get(model), { node, model }, why, retryAfterSeconds));
  };
  /** Whether the time of a circuit is over, so that the answer of its probe closes it. */
  const closes = (circuit: Circuit | undefined, name: CircuitName): boolean => {
    if (circuit === undefined || now() < circuit.openUntilMs) return false;
    listener?.closed(name);
    return true;
  };
  /** What a success leaves of a circuit. Where it is open only a probe closes it: other answers were asked for before. */
  const succeeded = (circuit: Circuit | undefined, name: CircuitName): Circuit | undefined => {
    if (circuit === undefined || closes(circuit, name)) return undefined;
    if (circuit.openUntilMs !== Number.POSITIVE_INFINITY) return circuit;
    circuit.failures.shift();
    return circuit.failures.length > 0 ? circuit : undefined;
  };
  const dropEmpty = (nodeId: string, node: NodeCircuits): void => {
    if (node.connect === undefined && node.models.size === 0) nodes.delete(nodeId);
  };

  return {
    state(nodeId, model) {
      const node = nodes.get(nodeId);
      if (node === undefined) return 'closed';
      const at = now();
      return worse(stateOf(node.connect, at), stateOf(node.models.get(model), at));
    },
    claim(nodeId, model) {
      const node = nodes.get(nodeId);
      for (const circuit of [node?.connect, node?.models.get(model)]) {
        if (circuit !== undefined && stateOf(circuit, now()) === 'probe') circuit.probeSinceMs = now();
      }
    },
    connectFailed(nodeId) {
      const node = circuitsOf(nodeId);
      node.connect = afterFailure(node.connect, { node: nodeId, model: undefined }, 'connections fail');
    },
    answered(nodeId, model, status, retryAfterSeconds) {
      if (status === 429 || status >= 500) modelFailed(nodeId, model, `status ${status}`, retryAfterSeconds);
      const node = nodes.get(nodeId);
      if (node === undefined) return;
      node.connect = succeeded(node.connect, { node: nodeId, model: undefined });
      const circuit = node.models.get(model);
      if (circuit !== undefined && saysNothing.has(status)) circuit.probeSinceMs = undefined;
      else if (circuit !== undefined && status !== 429 && status < 500) {
        if (succeeded(circuit, { node: nodeId, model }) === undefined) node.models.delete(model);
      }
      dropEmpty(nodeId, node);
    },
    timedOut(nodeId, model) {
      modelFailed(nodeId, model, 'no answer in time');
    },
    began(nodeId, model) {
      const node = nodes.get(nodeId);
      if (node === undefined) return;
      node.connect = succeeded(node.connect, { node: nodeId, model: undefined });
      if (closes(node.models.get(model), { node: nodeId, model })) node.models.delete(model);
      dropEmpty(nodeId, node);
    },
    broke(nodeId, model) {
      modelFailed(nodeId, model, 'answers break off');
    },
    abandoned(nodeId, model) {
      const node = nodes.get(nodeId);
      for (const circuit of [node?.connect, node?.models.get(model)]) {
        if (circuit !== undefined) circuit.probeSinceMs = undefined;
      }
    },
    forget(nodeId) {
      nodes.delete(nodeId);
    },
    *notClosed() {
      const at = now();
      for (const [node, { connect, models }] of nodes) {
        const state = stateOf(connect, at);
        if (state !== 'closed') yield { node, model: undefined, state: shown[state] };
        for (const [model, circuit] of models) {
          const ofModel = stateOf(circuit, at);
          if (ofModel !== 'closed') yield { node, model, state: shown[ofModel] };
        }
      }
    },
  };
}

/** As metrics name it. */
const shown = { open: 'open', probe: 'half_open' } as const;

function stateOf(circuit: Circuit | undefined, now: number): CircuitState {
  if (circuit === undefined || circuit.openUntilMs === Number.POSITIVE_INFINITY) return 'closed';
  if (now < circuit.openUntilMs) return 'open';
  return circuit.probeSinceMs !== undefined && now - circuit.probeSinceMs < probeLostMs ? 'open' : 'probe';
}

function worse(one: CircuitState, other: CircuitState): CircuitState {
  if (one === 'open' || other === 'open') return 'open';
  return one === 'probe' || other === 'probe' ? 'probe' : 'closed';
}

function failed(before: Circuit | undefined, now: number, retryAfterSeconds?: number): Circuit {
  const circuit = before ?? {
    failures: [],
    openUntilMs: Number.POSITIVE_INFINITY,
    openForMs: 0,
    probeSinceMs: undefined,
  };
  const state = stateOf(circuit, now);
  const wasProbe = circuit.probeSinceMs !== undefined;
  circuit.probeSinceMs = undefined;
  circuit.failures = [...circuit.failures.filter((at) => now - at < failureWindowMs), now].slice(
    -failuresToOpen,
  );
  if (retryAfterSeconds !== undefined && retryAfterSeconds > 0) {
    const until = now + Math.min(retryAfterSeconds * 1000, longestOpenMs);
    circuit.openUntilMs = state === 'closed' ? until : Math.max(until, circuit.openUntilMs);
  } else if (state !== 'closed' && (wasProbe || state === 'probe')) {
    circuit.openForMs = Math.min(Math.max(circuit.openForMs * 2, firstOpenMs), longestOpenMs);
    circuit.openUntilMs = now + circuit.openForMs;
  } else if (state === 'closed' && circuit.failures.length >= failuresToOpen) {
    circuit.openForMs = firstOpenMs;
    circuit.openUntilMs = now + firstOpenMs;
  }
  return circuit;
}
