import type { OpenCircuit } from '../../observe/circuit-metrics.ts';
import type { CircuitState, CircuitStates, Probe } from '../../routing/route.ts';

/**
 * Circuits of this gateway: per node for connections that fail, per node and model for 429 and 5xx. A circuit opens
 * after five failures within 30 s, or at once if the node sent Retry-After, and lets one probe through when its time is
 * over. A success removes one failure: the circuit of a node that fails four times of five opens, that of a node that fails
 * once in a hundred does not. Each process has its own circuits: another gateway may reach a node that this one cannot.
 */
export interface Circuits extends CircuitStates {
  /** The node could not be reached, or the connection broke before an answer. */
  connectFailed(asked: Asked): void;
  /**
   * The node answered with this status. 429 and 5xx are failures. 408 and 409, and 401 and 403 (about the gateway's
   * credential), change nothing. Any other answer to the probe closes the circuit.
   */
  answered(asked: Asked, status: number, retryAfterSeconds?: number): void;
  /** No answer came in time; counts as a 5xx. */
  timedOut(asked: Asked): void;
  /**
   * An answer has begun. If it is the probe's, the circuit closes, so that other requests need not wait for the end of a long
   * stream. Failures and the open time are reset only by an answer that ends well (`answered`): else the circuit of a node
   * whose every answer breaks off would never stay open.
   */
  began(asked: Asked): void;
  /** An answer broke off after it had begun; counts as a 5xx. If it was the probe's, the circuit opens again. */
  broke(asked: Asked): void;
  /** The attempt ended without an outcome, or was not made: if it was the probe, another request may be it. */
  abandoned(asked: Asked): void;
  /** The node was deleted or its connection changed: its circuits are forgotten. */
  forget(nodeId: string): void;
  /** Every circuit that is not closed now, for the metrics. */
  notClosed(): Iterable<OpenCircuit>;
}

/** The node and model that an attempt asked; a Candidate is one. Only the attempt that is the probe ends the probe. */
export interface Asked {
  readonly node: { readonly id: string };
  readonly model: string;
  readonly probe?: Probe | undefined;
}

/** Notified when circuits open and close; `model` is undefined for the circuit of a whole node. */
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
/** A probe without an outcome for this long counts as lost, so that a circuit never stays open indefinitely. */
const probeLostMs = 60_000;
const saysNothing: ReadonlySet<number> = new Set([401, 403, 408, 409]);

interface Circuit {
  /** Times of the last failures, newest last, at most `failuresToOpen`. */
  failures: number[];
  /** Infinity while closed. */
  openUntilMs: number;
  /** For how long it was opened without a Retry-After; doubles while probes fail. */
  openForMs: number;
  /** The probe under way, and since when; kept until its answer ends. */
  probe: Probe | undefined;
  probeSinceMs: number;
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
    asked: Asked,
    name: CircuitName,
    failure: { readonly why: string; readonly retryAfterSeconds?: number | undefined },
  ): Circuit => {
    const at = now();
    const wasOpen = stateOf(before, at) === 'open' && at < (before?.openUntilMs ?? 0);
    const circuit = failed(before, at, asked.probe, failure.retryAfterSeconds);
    if (!wasOpen && at < circuit.openUntilMs && circuit.openUntilMs !== Number.POSITIVE_INFINITY) {
      listener?.opened({ ...name, why: failure.why, seconds: (circuit.openUntilMs - at) / 1000 });
    }
    return circuit;
  };
  const modelFailed = (asked: Asked, why: string, retryAfterSeconds?: number): void => {
    const { model } = asked;
    const { connect, models } = circuitsOf(asked.node.id);
    const name = { node: asked.node.id, model };
    models.set(model, afterFailure(models.get(model), asked, name, { why, retryAfterSeconds }));
    free(connect, asked);
  };
  /** The circuit after a success. Only the probe closes it: other requests were sent before it opened. */
  const succeeded = (circuit: Circuit | undefined, asked: Asked, name: CircuitName): Circuit | undefined => {
    if (circuit === undefined) return undefined;
    const isProbe = free(circuit, asked);
    if (circuit.openUntilMs !== Number.POSITIVE_INFINITY) {
      if (!isProbe || now() < circuit.openUntilMs) return circuit;
      listener?.closed(name);
      return undefined;
    }
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
      if (node === undefined) return undefined;
      const at = now();
      let probe: Probe | undefined;
      for (const circuit of [node.connect, node.models.get(model)]) {
        if (circuit === undefined || stateOf(circuit, at) !== 'probe') continue;
        probe ??= Object.freeze({});
        circuit.probe = probe;
        circuit.probeSinceMs = at;
      }
      return probe;
    },
    connectFailed(asked) {
      const { id } = asked.node;
      const node = circuitsOf(id);
      const name = { node: id, model: undefined };
      node.connect = afterFailure(node.connect, asked, name, { why: 'connections fail' });
      free(node.models.get(asked.model), asked);
    },
    answered(asked, status, retryAfterSeconds) {
      const { model } = asked;
      const { id } = asked.node;
      const isFailure = status === 429 || status >= 500;
      const node = isFailure ? circuitsOf(id) : nodes.get(id);
      if (node === undefined) return;
      node.connect = succeeded(node.connect, asked, { node: id, model: undefined });
      const circuit = node.models.get(model);
      if (isFailure) modelFailed(asked, `status ${status}`, retryAfterSeconds);
      else if (saysNothing.has(status)) free(circuit, asked);
      else if (succeeded(circuit, asked, { node: id, model }) === undefined) node.models.delete(model);
      dropEmpty(id, node);
    },
    timedOut(asked) {
      modelFailed(asked, 'no answer in time');
    },
    began(asked) {
      const { model } = asked;
      const { id } = asked.node;
      const node = nodes.get(id);
      if (node === undefined) return;
      node.connect = succeeded(node.connect, asked, { node: id, model: undefined });
      const circuit = node.models.get(model);
      if (circuit !== undefined && holds(circuit, asked) && now() >= circuit.openUntilMs) {
        listener?.closed({ node: id, model });
        circuit.openUntilMs = Number.POSITIVE_INFINITY;
        circuit.failures = [];
      }
      dropEmpty(id, node);
    },
    broke(asked) {
      modelFailed(asked, 'answers break off');
    },
    abandoned(asked) {
      const node = nodes.get(asked.node.id);
      free(node?.connect, asked);
      free(node?.models.get(asked.model), asked);
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
  return circuit.probe !== undefined && now - circuit.probeSinceMs < probeLostMs ? 'open' : 'probe';
}

function worse(one: CircuitState, other: CircuitState): CircuitState {
  if (one === 'open' || other === 'open') return 'open';
  return one === 'probe' || other === 'probe' ? 'probe' : 'closed';
}

function holds(circuit: Circuit, { probe }: Pick<Asked, 'probe'>): boolean {
  return probe !== undefined && circuit.probe === probe;
}

/** Lets another request be the probe, if `asked` was it; returns whether it was. */
function free(circuit: Circuit | undefined, asked: Pick<Asked, 'probe'>): boolean {
  if (circuit === undefined || !holds(circuit, asked)) return false;
  circuit.probe = undefined;
  return true;
}

function failed(
  before: Circuit | undefined,
  now: number,
  probe: Probe | undefined,
  retryAfterSeconds?: number,
): Circuit {
  const circuit = before ?? {
    failures: [],
    openUntilMs: Number.POSITIVE_INFINITY,
    openForMs: 0,
    probe: undefined,
    probeSinceMs: 0,
  };
  const isClosed = circuit.openUntilMs === Number.POSITIVE_INFINITY;
  const isProbe = free(circuit, { probe });
  circuit.failures = [...circuit.failures.filter((at) => now - at < failureWindowMs), now].slice(
    -failuresToOpen,
  );
  if (retryAfterSeconds !== undefined && retryAfterSeconds > 0) {
    const until = now + Math.min(retryAfterSeconds * 1000, longestOpenMs);
    circuit.openUntilMs = isClosed ? until : Math.max(until, circuit.openUntilMs);
  } else if (isProbe || (isClosed && circuit.failures.length >= failuresToOpen)) {
    // If no answer has ended well since the circuit closed, it opens for longer.
    circuit.openForMs = Math.min(Math.max(circuit.openForMs * 2, firstOpenMs), longestOpenMs);
    circuit.openUntilMs = now + circuit.openForMs;
  }
  return circuit;
}
