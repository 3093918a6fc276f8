import { nearest } from '../resources/nearest.ts';

/** A message about an unknown name, with the known name that is nearest to it, or with `otherwise` if none is near. */
export function withNearest(
  message: string,
  name: string,
  known: readonly string[],
  otherwise?: string,
): string {
  const near = nearest(name, known);
  const remedy = near === undefined ? otherwise : `did you mean ${JSON.stringify(near)}?`;
  return remedy === undefined ? message : `${message}; ${remedy}`;
}
