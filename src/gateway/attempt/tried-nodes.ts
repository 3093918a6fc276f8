import type { Tried } from '../../routing/route.ts';
import type { Candidate } from '../../store/store.ts';

/** What one request has tried. A request tries few nodes, so that a list is enough. */
export class TriedNodes implements Tried {
  readonly #tried: { readonly node: string; readonly model: string | undefined }[] = [];

  /** The node at which the request has a place already. */
  held: string | undefined;
  /** The full nodes that the request waits for no longer. */
  givenUp: Set<string> | undefined;

  has({ node, model }: Candidate): boolean {
    return this.#tried.some((one) => one.node === node.id && (one.model ?? model) === model);
  }

  /** Leaves out this model of this node. */
  add({ node, model }: Candidate): void {
    this.#tried.push({ node: node.id, model });
  }

  /** Leaves out every model of the node. */
  addNode(node: string): void {
    this.#tried.push({ node, model: undefined });
  }
}
