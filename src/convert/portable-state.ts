import type { NewId } from './ids.ts';
import { ToolNames, type ToolOrigin } from './tool-names.ts';

/** What a format's state holds that cannot pass to another thread. */
interface Bound {
  readonly names?: ToolNames;
  readonly newId?: NewId;
  readonly now?: () => number;
}

/** The state of a converted request (Converted.state) as plain values, which can pass to another thread. */
export type PortableState = Readonly<Record<string, unknown>> & {
  readonly origins: ReadonlyMap<string, ToolOrigin>;
};

export function portableState(state: unknown): PortableState {
  const {
    names,
    newId: _newId,
    now: _now,
    ...plain
  } = (state ?? {}) as Bound & Readonly<Record<string, unknown>>;
  return { ...plain, origins: names?.origins ?? new Map() };
}

/** The state again, with this thread's own clock and identifiers. */
export function stateOf({ origins, ...plain }: PortableState, newId: NewId, now: () => number): unknown {
  return { ...plain, names: ToolNames.of(origins), newId, now };
}
