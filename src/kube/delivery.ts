import type { WatchEvent } from './watch.ts';

/** Where the objects of a list and its changes go. */
export interface ReflectSink {
  /** The complete content as of a version, at the start and after the server forgot the last: what is not in it was deleted. */
  replace(objects: unknown[], resourceVersion: string): void;
  set(object: unknown): void;
  /** Gets the last state of the deleted object; if `slim` threw, as it came. */
  remove(object: unknown): void;
}

/** What a delivery needs of the options of `reflect`. */
export interface DeliveryOptions {
  sink: ReflectSink;
  /** Leave `managedFields` in the objects; two fifths of a small one's text, and of use to editors alone. */
  managedFields?: boolean | undefined;
  /**
   * Called on each object as it arrives, to keep only what is used; `managedFields` are removed before unless asked for.
   * An object for which it throws is left out, of a list too; deleted, it is removed as it came.
   */
  slim?: ((object: unknown) => unknown) | undefined;
  /** The sink or `slim` threw; the stream goes on with the next object. */
  onSinkError?: ((error: unknown) => void) | undefined;
}

/** Hands objects to a sink as they are kept. Nothing that the sink or `slim` throws reaches the caller. */
export interface Delivery {
  /** Calls `take` with the slimmed object; skips an object for which `slim` threw. */
  kept(object: unknown, take: (kept: unknown) => void): void;
  replace(objects: unknown[], resourceVersion: string): void;
  /** Applies one event of a watch. */
  apply(event: WatchEvent): void;
}

export function deliveryTo({ sink, managedFields, slim, onSinkError }: DeliveryOptions): Delivery {
  const guard = (deliver: () => void): void => {
    try {
      deliver();
    } catch (error) {
      onSinkError?.(error);
    }
  };
  const kept = (object: unknown, take: (kept: unknown) => void): void => {
    if (managedFields !== true) dropManagedFields(object);
    guard(() => take(slim === undefined ? object : slim(object)));
  };
  const remove = (object: unknown): void => {
    let last = object;
    kept(object, (slimmed) => {
      last = slimmed;
    });
    // Even one that cannot be kept: an object that was deleted must not stay in force.
    guard(() => sink.remove(last));
  };
  return {
    kept,
    replace: (objects, resourceVersion) => guard(() => sink.replace(objects, resourceVersion)),
    apply({ type, object }) {
      if (type === 'DELETED') remove(object);
      else if (type !== 'BOOKMARK') kept(object, (slimmed) => sink.set(slimmed));
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

/** Half of an object's size in memory, and of no use to a reader. */
function dropManagedFields(object: unknown) {
  const metadata = (object as Meta | null)?.metadata;
  if (typeof metadata !== 'object' || metadata === null || metadata.managedFields === undefined) return;
  // Not deleted: V8 would turn the rest into a hash table, which takes more than what was saved.
  metadata.managedFields = undefined;
}
