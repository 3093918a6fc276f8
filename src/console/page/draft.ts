import { useRef, useState } from './htm-preact.js';
import type { Fields } from './spec-edits.ts';

/** A declaration as a form was made from it. */
export interface Base {
  readonly version: string;
  readonly manifest: string;
  readonly spec: Fields;
}

/** The content of a form, and the declaration that the form was opened with. */
export interface Draft<T> {
  readonly base: Base;
  readonly typed: T;
  /** Whether the declaration changed elsewhere since typing began. */
  readonly isBehind: boolean;
  readonly type: (typed: T) => void;
  /** Notes that the content was stored: the form continues from there. */
  readonly saved: (as: Base) => void;
  readonly discard: () => void;
}

interface Kept<T> {
  readonly base: Base;
  readonly typed: T;
  /** The declaration that was current when this was stored. What was stored is shown until a newer one is read. */
  readonly storedOver: string | undefined;
}

/**
 * The state of a form for a declaration that others may change. Until the reader edits, the form shows the newest version.
 * From then on it keeps the version that the reader saw: a save sends it, and the server refuses if it is old.
 */
export function useDraft<T>(
  current: Base,
  untyped: (spec: Fields) => T,
  isTyped: (base: Base, typed: T) => boolean,
): Draft<T> {
  const [kept, setKept] = useState<Kept<T> | undefined>(undefined);
  const newest = useRef(current);
  newest.current = current;
  const isLive = kept === undefined || (kept.storedOver !== undefined && kept.storedOver !== current.version);
  const base = isLive ? current : kept.base;
  return {
    base,
    typed: isLive ? untyped(current.spec) : kept.typed,
    isBehind: !isLive && kept.storedOver === undefined && kept.base.version !== current.version,
    type: (typed) => setKept(isTyped(base, typed) ? { base, typed, storedOver: undefined } : undefined),
    saved: (as) => setKept({ base: as, typed: untyped(as.spec), storedOver: newest.current.version }),
    discard: () => setKept(undefined),
  };
}
