import type { UpstreamNode } from '../../resources/upstream-node.ts';
import type { RouteView } from '../../routing/explain/exclusions.ts';
import { servedNames } from '../../store/node-models.ts';
import type { Candidate } from '../../store/store.ts';
import { declaredEntry } from '../declared-entry.ts';

/** Nodes as routing sees them; for `hasStatus` see `declaredEntry`. */
export function declaredView(nodes: readonly UpstreamNode[], hasStatus: boolean): RouteView {
  const entries = new Map(
    nodes.map((node) => {
      const entry = declaredEntry(node, hasStatus);
      return [entry.id, entry] as const;
    }),
  );
  return {
    served(name) {
      const candidates = [...entries.values()].flatMap((node): Candidate[] => {
        const found = servedNames(node.resource).get(name) ?? [];
        return found.map((served) => ({ node, ...served }));
      });
      return candidates.length === 0 ? undefined : { name, candidates };
    },
    nodes: () => entries.values(),
  };
}
