import type { CommandContext } from '../context.ts';
import { listedNamespace, type PlaceFlags } from '../place.ts';
import { type KnownModel, knownModels } from './servers.ts';

/** The models of the selected nodes, the namespace that was listed (undefined: all) and the name of the place. */
export async function listedModels(
  context: CommandContext,
  flags: PlaceFlags,
): Promise<{ models: KnownModel[]; namespace: string | undefined; place: string }> {
  const place = await context.declarations(flags);
  const namespace = listedNamespace(flags, place);
  const nodes = await place.list('UpstreamNode', namespace, context.signal);
  const resources = nodes.map(({ resource }) => resource);
  return { models: knownModels(resources, context.clock.wall().getTime()), namespace, place: place.place };
}
