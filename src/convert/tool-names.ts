import { createHash } from 'node:crypto';

/** The caller's name of a tool. */
export interface ToolOrigin {
  readonly name: string;
  /** The namespace that holds it (Responses). */
  readonly namespace?: string;
  /** Free text instead of JSON arguments (Responses). */
  readonly custom?: boolean;
  /** A search for tools, which has no name of its own (Responses). */
  readonly search?: boolean;
}

const most = 64;

/**
 * The names of one request's tools: `^[a-zA-Z0-9_-]{1,64}$` towards the node, the caller's own in the reply. Members of
 * a namespace become `namespace__member`. If a name must change, a hash of it is added, so that it is the same in every
 * request of a conversation, and two tools never get the same name. Declare the tools before reading the history.
 */
export class ToolNames {
  readonly #chatNames = new Map<string, string>();
  readonly #origins = new Map<string, ToolOrigin>();

  /** The name to send. The same origin always gives the same name. */
  chatName(origin: ToolOrigin): string {
    const key = keyOf(origin);
    const known = this.#chatNames.get(key);
    if (known !== undefined) return known;
    const name = this.#free(
      origin.namespace === undefined ? origin.name : `${origin.namespace}__${origin.name}`,
      key,
    );
    this.#chatNames.set(key, name);
    this.#origins.set(name, origin);
    return name;
  }

  /** Whether a tool of this origin was declared or used in the history. */
  has(origin: ToolOrigin): boolean {
    return this.#chatNames.has(keyOf(origin));
  }

  /** The caller's name for the tool that the node named. A name that was never sent is returned unchanged. */
  origin(chatName: string): ToolOrigin {
    return this.#origins.get(chatName) ?? { name: chatName };
  }

  /** What was declared, by the names that are sent. */
  get origins(): ReadonlyMap<string, ToolOrigin> {
    return this.#origins;
  }

  /** Names that were declared in another thread; they are read alone. */
  static of(origins: ReadonlyMap<string, ToolOrigin>): ToolNames {
    const names = new ToolNames();
    for (const [name, origin] of origins) names.#origins.set(name, origin);
    return names;
  }

  #free(wanted: string, key: string): string {
    const clean = wanted.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
    if (clean === wanted && wanted !== '' && wanted.length <= most && !this.#origins.has(wanted))
      return wanted;
    for (let salt = 0; ; salt++) {
      const hash = createHash('sha256').update(`${salt}${key}`).digest('hex').slice(0, 8);
      const name = `${clean.slice(0, most - hash.length - 1)}_${hash}`;
      if (!this.#origins.has(name)) return name;
    }
  }
}

function keyOf({ namespace, name, search }: ToolOrigin): string {
  return JSON.stringify([namespace ?? null, name, ...(search === true ? ['search'] : [])]);
}
