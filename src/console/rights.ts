import type { Act, Declarations } from '../cli/edit/declarations.ts';
import { pageKinds } from './live.ts';
import type { PageKind, Right, Rights } from './shapes.ts';

/** What the person who runs the console may do to the resources of a namespace. Throws DeclarationError. */
export async function rightsIn(
  declarations: Declarations,
  namespace: string,
  signal: AbortSignal,
): Promise<Rights> {
  const may = async (act: Act, kind: PageKind): Promise<Right> =>
    (await declarations.refusal(act, kind, namespace, signal)) ?? true;
  const of = async (kind: PageKind): Promise<Rights[PageKind]> => {
    const [create, edit, remove] = await Promise.all([
      may('create', kind),
      may('edit', kind),
      may('remove', kind),
    ]);
    return { create, edit, remove };
  };
  const rights = await Promise.all(pageKinds.map(async (kind) => [kind, await of(kind)] as const));
  return Object.fromEntries(rights) as Rights;
}
