import type { WatchEvent } from './watch.ts';

/** Where the objects of a list and its changes go. */
export interface ReflectSink {
  /** Takes the complete content of a version. Objects that are not in it were deleted. */
  replace(objects: unknown[], resourceVersion: string): void;
  set(object: unknown): void;
  /** Takes the last state of a deleted object: slimmed, or as it arrived if `slim` threw. */
  remove(object: unknown): void;
}

/** What a delivery needs of the options of `reflect`. */
export interface DeliveryOptions {
  sink: ReflectSink;
  /** Leave `managedFields` in the objects. Only editors need them, and they are two fifths of a small object's text. */
  managedFields?: boolean | undefined;
  /**
   * Called for each object as it arrives; returns the part that is kept. `managedFields` were removed before, unless they were
   * asked for. If it throws, the object is left out; a deleted object is then passed to `remove` as it arrived.
   */
  slim?: ((object: unknown) => unknown) | undefined;
  /** The sink or `slim` threw; the stream goes on with the next object. */
  onSinkError?: ((error: unknown) => void) | undefined;
}

/** Passes slimmed objects to a sink. Errors that the sink or `slim` throws do not reach the caller. */
export interface Delivery {
  /** Calls `take` with the slimmed object; skips an object for which `slim` threw, and returns false. */
  kept(object: unknown, take: (kept: unknown) => void): boolean;
  replace(objects: unknown[], resourceVersion: string): void;
  /** Applies one event of a watch. Returns false if the sink or `slim` threw, so that the sink may lack it. */
  apply(event: WatchEvent): boolean;
}

export function deliveryTo({ sink, managedFields, slim, onSinkError }: DeliveryOptions): Delivery {
  const guard = (deliver: () => void): boolean => {
    try {
      deliver();
      return true;
    } catch (error) {
      onSinkError?.(error);
      return false;
    }
  };
  const kept = (object: unknown, take: (kept: unknown) => void): boolean => {
    if (managedFields !== true) dropManagedFields(object);
    return guard(() => take(slim === undefined ? object : slim(object)));
  };
  const remove = (object: unknown): boolean => {
    let last = object;
    kept(object, (slimmed) => {
      last = slimmed;
    });
    // Also if `slim` threw: a deleted object must not stay in force.
    return guard(() => sink.remove(last));
  };
  return {
    kept,
    replace: (objects, resourceVersion) => {
      guard(() => sink.replace(objects, resourceVersion));
    },
    apply({ type, object }) {
      if (type === 'DELETED') return remove(object);
      return type === 'BOOKMARK' || kept(object, (slimmed) => sink.set(slimmed));
    },
  };
}

interface Meta {
  metadata?: { namespace?: unknown; name?: unknown; managedFields?: unknown };
}

/** Namespace and name of an object; `fallback`, a number, for one without a name. */
export function identity(object: unknown, fallback: number): string {
  const metadata = (object as Meta | null)?.metadata;
  return typeof metadata?.name === 'string'
    ? `${typeof metadata.namespace === 'string' ? metadata.namespace : ''}/${metadata.name}`
    : `#${fallback}`;
}

/** Removes `managedFields`, which are half of an object's size in memory, and which readers do not use. */
function dropManagedFields(object: unknown) {
  const metadata = (object as Meta | null)?.metadata;
  if (typeof metadata !== 'object' || metadata === null || metadata.managedFields === undefined) return;
  // Not by `delete`, after which V8 stores the object as a hash table, which takes more memory than this saves.
  metadata.managedFields = undefined;
}
