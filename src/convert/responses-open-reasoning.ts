import { GrowingText } from './growing-text.ts';
import { type ItemStatus, type ResponsesItem, reasoningItem } from './responses-items.ts';
import type { Emit, ItemPlace } from './responses-open-item.ts';
import { deltaFrame, openDelta } from './sse-writer.ts';

/** A reasoning item of a streamed response (responses.md), shown as a summary or as text. */
export class OpenReasoning {
  /** Reasoning may end at any time. */
  readonly isWhole = true;
  readonly #place: ItemPlace;
  readonly #summarized: boolean;
  readonly #emit: Emit;
  readonly #deltas: string;
  readonly #text = new GrowingText();
  #begun = false;
  #encrypted: string | undefined;
  #final: ResponsesItem | undefined;

  constructor(place: ItemPlace, summarized: boolean, emit: Emit) {
    this.#place = place;
    this.#summarized = summarized;
    this.#emit = emit;
    this.#deltas = deltaFrame({ type: this.#type('text.delta'), ...this.#at() });
    const item = reasoningItem(place.id, 'in_progress', {}, summarized);
    emit({ type: 'response.output_item.added', output_index: place.index, item });
  }

  /** Adds the signed or encrypted values that the node needs with the next request; the item may have no text. */
  seal(encrypted: string): void {
    this.#encrypted = encrypted;
  }

  get isSealed(): boolean {
    return this.#encrypted !== undefined;
  }

  add(text: string): void {
    if (!this.#begun) this.#emit({ type: this.#type('part.added'), ...this.#at(), part: this.#part('') });
    this.#begun = true;
    this.#text.add(text);
    this.#emit(openDelta(this.#deltas, text));
  }

  close(status: ItemStatus): void {
    const text = this.#text.read();
    const at = this.#at();
    if (this.#begun) {
      this.#emit({ type: this.#type('text.done'), ...at, text });
      this.#emit({ type: this.#type('part.done'), ...at, part: this.#part(text) });
    }
    this.#final = this.#item(status);
    const { index } = this.#place;
    this.#emit({ type: 'response.output_item.done', output_index: index, item: this.#final });
  }

  snapshot(): ResponsesItem {
    return this.#final ?? this.#item('incomplete');
  }

  #item(status: ItemStatus): ResponsesItem {
    const text = this.#begun ? this.#text.read() : undefined;
    return reasoningItem(this.#place.id, status, { text, encrypted: this.#encrypted }, this.#summarized);
  }

  #type(step: 'part.added' | 'part.done' | 'text.delta' | 'text.done'): string {
    if (this.#summarized) return `response.reasoning_summary_${step}`;
    return step.startsWith('part') ? `response.content_${step}` : `response.reasoning_${step}`;
  }

  #part(text: string) {
    return { type: this.#summarized ? 'summary_text' : 'reasoning_text', text };
  }

  #at() {
    const place = { item_id: this.#place.id, output_index: this.#place.index };
    return this.#summarized ? { ...place, summary_index: 0 } : { ...place, content_index: 0 };
  }
}
