import { servedNames } from '../../store/node-models.ts';
import type { CommandContext } from '../context.ts';
import { DeclarationError, type Declarations } from '../edit/declarations.ts';
import { type PlaceFlags, showsStatus } from '../place.ts';
import { withNearest } from '../with-nearest.ts';

/** Warns of models in an allowlist that no node serves now. Prints nothing if nodes or their models cannot be read. */
export async function warnOfUnserved(
  { env, err, signal }: CommandContext,
  place: Declarations,
  flags: PlaceFlags,
  models: readonly string[],
): Promise<void> {
  if (models.length === 0 || !showsStatus(flags, env)) return;
  const nodes = await place.list('UpstreamNode', undefined, signal).catch((error: unknown) => {
    if (error instanceof DeclarationError) return undefined;
    throw error;
  });
  if (nodes === undefined) return;
  const known = [...new Set(nodes.flatMap(({ resource }) => [...servedNames(resource).keys()]))];
  for (const model of models.filter((name) => !known.includes(name))) {
    const warning = `Warning: no node serves ${JSON.stringify(model)} now`;
    err.write(`${withNearest(warning, model, known)}\n`);
  }
}
