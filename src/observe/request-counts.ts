/** What a count is of. */
export interface RequestLabels {
  readonly route: string;
  readonly model: string;
  readonly node: string;
  readonly code: number;
}

/** Requests with these labels, and attempts since they were last asked for. */
interface Count {
  readonly labels: RequestLabels;
  requests: number;
  attempts: number;
}

type Tree<Leaf> = Map<string, Leaf>;

/** Sets of labels; the models of further ones count as `other`, and from twice as many on their nodes too. */
const mostSets = 2_000;

/**
 * Counts requests between two scrapes. prom-client joins the labels into a new text for each request to find its
 * counter, which costs as much as authenticating the caller; here each label is a look-up of a text that stands.
 */
export class RequestCounts {
  readonly #routes: Tree<Tree<Tree<Map<number, Count>>>> = new Map();
  #counts: Count[] = [];
  /** Of nodes that are gone; their attempts count all the same. */
  readonly #gone: Count[] = [];

  add(route: string, model: string, node: string, code: number, attempts: number): void {
    const count =
      this.#routes.get(route)?.get(model)?.get(node)?.get(code) ?? this.#make(route, model, node, code);
    count.requests += 1;
    count.attempts += attempts;
  }

  /** Hands over how many there were until now. */
  read(each: (labels: RequestLabels, requests: number) => void): void {
    for (const { labels, requests } of this.#counts) each(labels, requests);
  }

  /** Hands over how many attempts there were since the last call. */
  takeAttempts(each: (route: string, attempts: number) => void): void {
    for (const count of [...this.#gone.splice(0), ...this.#counts]) {
      if (count.attempts > 0) each(count.labels.route, count.attempts);
      count.attempts = 0;
    }
  }

  /** Ends the series of a node. */
  forget(node: string): void {
    for (const models of this.#routes.values()) {
      for (const [model, nodes] of models) if (nodes.delete(node) && nodes.size === 0) models.delete(model);
    }
    const { true: gone = [], false: kept = [] } = Object.groupBy(this.#counts, ({ labels }) =>
      labels.node === node ? 'true' : 'false',
    );
    this.#counts = kept;
    this.#gone.push(...gone);
  }

  #make(route: string, wantedModel: string, wantedNode: string, code: number): Count {
    const model = this.#counts.length < mostSets ? wantedModel : 'other';
    const node = this.#counts.length < 2 * mostSets ? wantedNode : 'other';
    const codes = under(under(under(this.#routes, route), model), node);
    const known = codes.get(code);
    if (known !== undefined) return known;
    const made = { labels: { route, model, node, code }, requests: 0, attempts: 0 };
    codes.set(code, made);
    this.#counts.push(made);
    return made;
  }
}

function under<Key, Value>(tree: Map<string, Map<Key, Value>>, name: string): Map<Key, Value> {
  const known = tree.get(name);
  if (known !== undefined) return known;
  const made = new Map<Key, Value>();
  tree.set(name, made);
  return made;
}
