import type { Detail, Edited } from '../shapes.ts';
import { useEffect, useState } from './htm-preact.js';
import { idOf, useLive } from './live-rows.ts';
import { type Ref, readDetail } from './server.ts';

const watchers = new Set<(id: string, edited: Edited | undefined) => void>();

/**
 * Notes the new state of a resource that was changed here, so that the view does not judge the next action by the old state,
 * and no form takes the reader's own change for somebody else's.
 */
export function changedHere(ref: Ref, edited?: Edited): void {
  for (const watcher of watchers) watcher(idOf(ref), edited);
}

const going = new Set<string>();

/**
 * Deletes a resource by `act`, which ends when the view was closed. Until then the resource is not read: a late event of an
 * earlier change would request a resource that was deleted.
 */
export async function whileGoing(ref: Ref, act: () => Promise<void>): Promise<void> {
  going.add(idOf(ref));
  try {
    await act();
  } finally {
    going.delete(idOf(ref));
  }
}

/** One complete resource, read again whenever its row changes; or why it cannot be read. */
export function useDetail(ref: Ref): {
  readonly detail: Detail | undefined;
  readonly problem: string | undefined;
} {
  const { rows, connection } = useLive();
  const [detail, setDetail] = useState<Detail | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const id = idOf(ref);
  const row = rows.get(id);
  const [changes, setChanges] = useState(0);
  useEffect(() => {
    const watcher = (changed: string, edited: Edited | undefined): void => {
      if (changed !== id) return;
      if (edited !== undefined) setDetail((before) => before && withEdit(before, edited));
      setChanges((count) => count + 1);
    };
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, [id]);
  useEffect(() => {
    if (going.has(id)) return undefined;
    let here = true;
    readDetail(ref).then(
      (read) => {
        if (!here) return;
        setDetail(read);
        setProblem(undefined);
      },
      (error: unknown) => {
        if (here) setProblem(error instanceof Error ? error.message : String(error));
      },
    );
    return () => {
      here = false;
    };
  }, [id, JSON.stringify(row), connection === 'broken', changes]);
  return { detail, problem };
}

/** The last known state of a resource, until it is read again. */
function withEdit(detail: Detail, { row, version, after, spec }: Edited): Detail {
  return { ...detail, row, version, manifest: after, resource: { ...(detail.resource as object), spec } };
}
