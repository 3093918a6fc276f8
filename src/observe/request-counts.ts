/** What a count is of. */
export interface RequestLabels {
  readonly route: string;
  readonly model: string;
  readonly node: string;
  readonly code: number;
}

/** How many requests there were with these labels since it was last asked. */
interface Count {
  readonly labels: RequestLabels;
  requests: number;
  attempts: number;
}

type Tree<Leaf> = Map<string, Leaf>;

/**
 * Counts requests between two scrapes. prom-client joins the labels into a new text for each request to find its
 * counter, which costs as much as authenticating the caller; here each label is a look-up of a text that stands.
 */
export class RequestCounts {
  readonly #routes: Tree<Tree<Tree<Map<number, Count>>>> = new Map();
  readonly #counts: Count[] = [];

  add(route: string, model: string, node: string, code: number, attempts: number): void {
    const codes = under(under(under(this.#routes, route), model), node);
    const count = codes.get(code);
    if (count !== undefined) {
      count.requests += 1;
      count.attempts += attempts;
      return;
    }
    const first = { labels: { route, model, node, code }, requests: 1, attempts };
    codes.set(code, first);
    this.#counts.push(first);
  }

  /** Hands over what came since the last call. */
  take(each: (labels: RequestLabels, requests: number, attempts: number) => void): void {
    for (const count of this.#counts) {
      if (count.requests === 0) continue;
      each(count.labels, count.requests, count.attempts);
      count.requests = 0;
      count.attempts = 0;
    }
  }
}

function under<Key, Value>(tree: Map<string, Map<Key, Value>>, name: string): Map<Key, Value> {
  const known = tree.get(name);
  if (known !== undefined) return known;
  const made = new Map<Key, Value>();
  tree.set(name, made);
  return made;
}
