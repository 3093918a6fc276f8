import type { NewId } from './ids.ts';

/** Longest id: the bound of `call_id` in Responses. */
const most = 64;

/**
 * The ids of one answer's tool calls as callers may see them: `^[a-zA-Z0-9_-]{1,64}$`, no two alike, the node's own
 * wherever it fits (Kimi writes `functions.x:0`, Gemini nothing, some nodes the same for all).
 */
export class ToolIds {
  readonly #used = new Set<string>();
  readonly #newId: NewId;
  readonly #prefix: string;

  /** `prefix` begins invented ids: `call_` or `toolu_`. */
  constructor(newId: NewId, prefix: string) {
    this.#newId = newId;
    this.#prefix = prefix;
  }

  /** The id to show for the next call; asked once per call. */
  take(upstreamId: string): string {
    const clean = upstreamId.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, most);
    const id = clean === '' || this.#used.has(clean) ? this.#newId(this.#prefix) : clean;
    this.#used.add(id);
    return id;
  }
}
