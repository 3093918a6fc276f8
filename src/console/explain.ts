import type { Declarations } from '../cli/edit/declarations.ts';
import { anyKeyOf, keyEntryOf, refusedKey } from '../cli/route/asking-key.ts';
import { declaredView } from '../cli/route/declared-view.ts';
import type { CircuitReadings } from '../cli/route/readings.ts';
import { conclusions, refusalText, remarksOf } from '../cli/route/text.ts';
import { type ExplainedNode, explainRoute } from '../routing/explain/explain.ts';
import type { ExplainRoute } from './route-routes.ts';
import type { RouteNode } from './shapes.ts';

/** The circuits of the gateways, read as often as the page asks where a request goes. */
export type ReadCircuits = (signal: AbortSignal) => Promise<CircuitReadings>;

/** Explains routes from what the page shows, as `route explain` does; `shown` is the only namespace shown, if it is one. */
export function explainFrom(
  declarations: Declarations,
  homeNamespace: string,
  readCircuits: ReadCircuits,
  signal: AbortSignal,
  shown: string | undefined,
): ExplainRoute {
  return async ({ model, format, key: asked }, live) => {
    const [namespace, name] = asked.split('/');
    const declared = [...(await live.declared('APIKey'))].find(
      ({ resource: { metadata } }) => metadata.namespace === namespace && metadata.name === name,
    );
    const key = declared === undefined ? anyKeyOf(declarations.namespace) : keyEntryOf(declared.resource);
    const { circuits, missing } = await readCircuits(signal);
    const now = new Date();
    const explanation = explainRoute({
      view: declaredView(
        [...(await live.declared('UpstreamNode'))].map(({ resource }) => resource),
        true,
      ),
      model,
      key,
      format,
      homeNamespace,
      now: now.getTime(),
      circuits,
    });
    const refused = declared === undefined ? undefined : refusedKey(declared.resource, now);
    return {
      model,
      refusal: refusalText(explanation),
      notes: [
        ...(refused === undefined ? [] : [`The key ${asked} opens nothing: callers get 401, for ${refused}`]),
        // The command has a flag for complete requests, and the page does not.
        ...conclusions(explanation).map((note) => note.replace(/: see --\w+\.$/, '.')),
        ...missing,
        ...(shown === undefined ? [] : [`Only nodes of the namespace ${shown} are considered.`]),
      ],
      nodes: explanation.nodes.map(routeNode),
    };
  };
}

function routeNode(node: ExplainedNode): RouteNode {
  const [namespace = '', name = ''] = node.node.split('/');
  const { model, priority, weight, phase, tier, share, excluded } = node;
  const conversion = node.native ? 'in its own format' : `converted ${node.conversion?.name ?? ''}`.trim();
  return {
    namespace,
    name,
    model,
    priority,
    weight,
    phase,
    tier,
    share,
    conversion: tier === undefined ? undefined : conversion,
    remarks: remarksOf(node),
    excluded,
  };
}
