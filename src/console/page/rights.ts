import type { PageKind, Place, Rights, Row } from '../shapes.ts';
import { useEffect, useState } from './htm-preact.js';
import { readRights } from './server.ts';

const known = new Map<string, Promise<Rights>>();

/** What this person may do in a namespace; undefined until the server has answered. */
export function useRights(namespace: string): Rights | undefined {
  const [rights, setRights] = useState<Rights | undefined>(undefined);
  useEffect(() => {
    let asked = known.get(namespace);
    if (asked === undefined) {
      asked = readRights(namespace);
      known.set(namespace, asked);
      // A failure is not remembered: the next view asks again.
      asked.catch(() => known.delete(namespace));
    }
    let here = true;
    void asked.then((answer) => here && setRights(answer)).catch(() => {});
    return () => {
      here = false;
    };
  }, [namespace]);
  return rights;
}

/** Why this person may not do something; undefined if they may. The server decides again when they do it. */
export function denial(
  place: Place,
  rights: Rights | undefined,
  kind: PageKind,
  act: 'create' | 'edit' | 'remove',
  row: Pick<Row, 'managedBy' | 'kept'> = { managedBy: undefined },
): string | undefined {
  if (place.readOnly !== undefined) return place.readOnly;
  const { managedBy, kept } = row;
  if (managedBy !== undefined)
    return `It is managed by ${managedBy}, which would undo a change made here. Change it there.`;
  if (kept !== undefined) return `It cannot be changed: ${kept}.`;
  const right = rights?.[kind][act];
  return right === undefined || right === true ? undefined : right;
}
