import type { RequestRecord, TokenUsage } from './request-record.ts';

/** The labels of a count. */
export interface RequestLabels {
  readonly route: string;
  readonly model: string;
  readonly node: string;
  readonly code: number;
}

/** Tokens of one model on one node. */
export interface ModelTotals {
  readonly node: string;
  readonly model: string;
  input: number;
  output: number;
  cached: number;
  reasoning: number;
}

/** How long one node's requests took, in seconds. */
export interface NodeTotals {
  readonly node: string;
  requests: number;
  seconds: number;
  streams: number;
  firstContentSeconds: number;
}

/** Requests with these labels. */
interface Count {
  readonly labels: RequestLabels;
  readonly ofModel: ModelTotals;
  readonly ofNode: NodeTotals;
  requests: number;
}

type Tree<Leaf> = Map<string, Leaf>;

/** Most sets of labels. Beyond it the model counts as `other`; beyond twice as many the node does too. */
const mostSets = 2_000;

/**
 * Counts requests. prom-client joins the labels into a new text for each request to find its
 * counter, which costs as much as authenticating the caller; here each label is a look-up of an existing string.
 */
export class RequestCounts {
  readonly #routes: Tree<Tree<Tree<Map<number, Count>>>> = new Map();
  readonly #models: Tree<Tree<ModelTotals>> = new Map();
  readonly #nodes: Tree<NodeTotals> = new Map();
  #counts: Count[] = [];

  add(record: RequestRecord): void {
    const { route, model = 'other', node = 'none', status, tokens, firstContentMs } = record;
    const count =
      this.#routes.get(route)?.get(model)?.get(node)?.get(status) ?? this.#make(route, model, node, status);
    count.requests += 1;
    const { ofNode } = count;
    ofNode.requests += 1;
    ofNode.seconds += record.durationMs / 1000;
    if (firstContentMs !== undefined) {
      ofNode.streams += 1;
      ofNode.firstContentSeconds += firstContentMs / 1000;
    }
    if (tokens !== undefined) addTokens(count.ofModel, tokens);
  }

  /** Yields the number of requests of each set of labels. */
  *read(): Iterable<readonly [RequestLabels, number]> {
    for (const { labels, requests } of this.#counts) yield [labels, requests];
  }

  *models(): Iterable<ModelTotals> {
    for (const models of this.#models.values()) yield* models.values();
  }

  nodes(): Iterable<NodeTotals> {
    return this.#nodes.values();
  }

  /** Removes the series of a node. */
  forget(node: string): void {
    this.#nodes.delete(node);
    this.#models.delete(node);
    for (const models of this.#routes.values()) {
      for (const [model, nodes] of models) if (nodes.delete(node) && nodes.size === 0) models.delete(model);
    }
    this.#counts = this.#counts.filter(({ labels }) => labels.node !== node);
  }

  #make(route: string, wantedModel: string, wantedNode: string, code: number): Count {
    const model = this.#counts.length < mostSets ? wantedModel : 'other';
    const node = this.#counts.length < 2 * mostSets ? wantedNode : 'other';
    const codes = under(under(under(this.#routes, route), model), node);
    const known = codes.get(code);
    if (known !== undefined) return known;
    const made = {
      labels: { route, model, node, code },
      ofModel: this.#modelTotals(node, model),
      ofNode: this.#nodeTotals(node),
      requests: 0,
    };
    codes.set(code, made);
    this.#counts.push(made);
    return made;
  }

  #modelTotals(node: string, model: string): ModelTotals {
    const models = under(this.#models, node);
    const known = models.get(model);
    if (known !== undefined) return known;
    const made = { node, model, input: 0, output: 0, cached: 0, reasoning: 0 };
    models.set(model, made);
    return made;
  }

  #nodeTotals(node: string): NodeTotals {
    const known = this.#nodes.get(node);
    if (known !== undefined) return known;
    const made = { node, requests: 0, seconds: 0, streams: 0, firstContentSeconds: 0 };
    this.#nodes.set(node, made);
    return made;
  }
}

function addTokens(totals: ModelTotals, { input, output, cached, reasoning }: TokenUsage): void {
  totals.input += input;
  totals.output += output;
  totals.cached += cached;
  totals.reasoning += reasoning;
}

function under<Key, Value>(tree: Map<string, Map<Key, Value>>, name: string): Map<Key, Value> {
  const known = tree.get(name);
  if (known !== undefined) return known;
  const made = new Map<Key, Value>();
  tree.set(name, made);
  return made;
}
