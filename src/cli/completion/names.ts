import { realModels, servedNames } from '../../store/node-models.ts';
import type { Declarations } from '../edit/declarations.ts';
import { namedRef, nodeWords } from '../named.ts';
import type { NameSource } from './completes.ts';
import type { Suggestion } from './suggestion.ts';

/** The existing names from one source. `values` are the arguments before. Throws DeclarationError. */
export async function namesOf(
  source: NameSource,
  values: readonly string[],
  place: Declarations,
  signal: AbortSignal,
): Promise<Suggestion[]> {
  switch (source) {
    case 'file':
      return [];
    case 'node': {
      const nodes = await place.list('UpstreamNode', place.namespace, signal);
      return nodes.map(({ resource: { metadata, spec } }) => ({ value: metadata.name, help: spec.baseURL }));
    }
    case 'model': {
      const nodes = await place.list('UpstreamNode', place.namespace, signal);
      const names = new Set(nodes.flatMap(({ resource }) => [...servedNames(resource).keys()]));
      return [...names].sort().map((value) => ({ value, help: '' }));
    }
    case 'node-model': {
      const [node = ''] = values;
      const { resource } = await place.get(namedRef(place, nodeWords, node), signal);
      return [...realModels(resource)]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([value, { enabled }]) => ({ value, help: enabled ? 'enabled' : 'disabled' }));
    }
    case 'key':
    case 'masterkey': {
      const kind = source === 'key' ? 'APIKey' : 'MasterKey';
      const keys = await place.list(kind, place.namespace, signal);
      return keys.map(({ resource: { metadata, spec } }) => ({
        value: metadata.name,
        help: spec.displayName ?? '',
      }));
    }
  }
}
