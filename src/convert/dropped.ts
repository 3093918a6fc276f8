import { ConversionError } from './conversion-error.ts';
import { limits } from './limits.ts';

/** An object of the request that can name its members that no code took. */
export interface Unread {
  nameUnread(): void;
}

/**
 * The fields of one request that the conversion leaves out, for `x-model-gateway-dropped`.
 * A *loss* may change the answer; a *hint* (prompt caching, telemetry, an earlier turn's reasoning) does not. Both are
 * named in the header; only losses are refused by a strict key and make a native node preferable.
 */
export class Dropped {
  // Lists: most requests drop nothing, and two empty sets for each cost more than looking through 24 paths.
  readonly #losses: string[] = [];
  readonly #hints: string[] = [];
  #uncounted = 0;
  readonly #objects: Unread[] = [];

  /** Will name, in `settle`, the members of this object that no code took. */
  watch(object: Unread): void {
    this.#objects.push(object);
  }

  /** Names the members that no code took, once the request is converted. With `strict` it refuses the request if something is lost. */
  settle(strict: boolean | undefined): { readonly dropped: readonly string[]; readonly lossy: boolean } {
    for (const object of this.#objects) object.nameUnread();
    this.refuseIf(strict);
    return { dropped: this.list(), lossy: this.lossy };
  }

  /** A field whose absence may change the answer. */
  loss(path: string): void {
    this.#add(this.#losses, printable(path));
  }

  /** A field whose absence changes no answer. */
  hint(path: string): void {
    this.#add(this.#hints, printable(path));
  }

  /** Whether the answer may differ from what the caller asked for. */
  get lossy(): boolean {
    return this.#losses.length > 0;
  }

  /** The paths, bounded, safe in a header; what did not fit is counted in a last entry `+N`. */
  list(): string[] {
    // Losses first: they must not be pushed out by the hundreds of cache_control marks of a long conversation.
    const all = [...this.#losses, ...this.#hints];
    const shown = all.slice(0, limits.droppedPaths);
    const rest = all.length - shown.length + this.#uncounted;
    return rest > 0 ? [...shown, `+${rest}`] : shown;
  }

  /** Refuses the request when the key asked for exact conversion (`conversion: Strict`) and something would be lost. */
  refuseIf(strict: boolean | undefined): void {
    const [first] = this.#losses;
    if (strict !== true || first === undefined) return;
    throw new ConversionError({
      code: 'unsupported_parameter',
      param: first,
      reason: `This API key converts strictly, and these cannot be carried to any node: ${this.#losses.join(', ')}`,
    });
  }

  #add(paths: string[], path: string): void {
    if (paths.includes(path)) return;
    if (paths.length < limits.droppedPaths) paths.push(path);
    else this.#uncounted += 1;
  }
}

/** Names of unknown fields are the caller's text: a header must not carry line breaks or a megabyte. */
function printable(path: string): string {
  return path.slice(0, 100).replaceAll(/[^\w.[\]-]/g, '?');
}
