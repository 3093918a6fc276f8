import type { PageKind } from '../shapes.ts';
import { useEffect, useState } from './htm-preact.js';
import { ask } from './server.ts';
import type { FieldSchema } from './spec-edits.ts';

const known = new Map<PageKind, Promise<FieldSchema>>();

/** The schema of a kind's `spec`, as its CRD says it; undefined until it is read. */
export function useSchema(kind: PageKind): FieldSchema | undefined {
  const [schema, setSchema] = useState<FieldSchema | undefined>(undefined);
  useEffect(() => {
    const asked = known.get(kind) ?? ask<FieldSchema>('GET', `/api/schema/${kind}`);
    known.set(kind, asked);
    asked.then(setSchema).catch(() => known.delete(kind));
    return undefined;
  }, [kind]);
  return schema;
}
