import { GrowingText } from './growing-text.ts';
import {
  type ItemStatus,
  type MessagePart,
  messageItem,
  outputLogprobs,
  outputTextPart,
  type ResponsesItem,
  urlCitation,
} from './responses-items.ts';
import type { Emit, ItemPlace } from './responses-open-item.ts';
import { deltaFrame, openDelta } from './sse-writer.ts';
import type { UrlCitation } from './url-citations.ts';

/** The part that is being written. */
interface OpenPart {
  readonly type: MessagePart['type'];
  readonly deltas: string;
  readonly text: GrowingText;
  readonly annotations: object[];
  readonly logprobs: object[];
}

/** A message item of a streamed response (responses.md): text, refusal, or first one and then the other. */
export class OpenMessage {
  /** A message may end at any time. */
  readonly isWhole = true;
  readonly #place: ItemPlace;
  readonly #emit: Emit;
  readonly #done: MessagePart[] = [];
  #part: OpenPart | undefined;
  #final: ResponsesItem | undefined;

  constructor(place: ItemPlace, emit: Emit) {
    this.#place = place;
    this.#emit = emit;
    const item = messageItem(place.id, 'in_progress', []);
    emit({ type: 'response.output_item.added', output_index: place.index, item });
  }

  /** Whether text is being written. */
  get speaks(): boolean {
    return this.#part?.type === 'output_text';
  }

  say(text: string, entries: readonly unknown[]): void {
    const part = this.#open('output_text');
    const logprobs = entries.length === 0 ? [] : outputLogprobs(entries);
    part.text.add(text);
    for (const entry of logprobs) part.logprobs.push(entry);
    if (logprobs.length === 0) this.#emit(openDelta(part.deltas, text));
    else this.#emit({ type: 'response.output_text.delta', ...this.#at(), delta: text, logprobs });
  }

  refuse(text: string): void {
    const part = this.#open('refusal');
    part.text.add(text);
    this.#emit(openDelta(part.deltas, text));
  }

  cite(citation: UrlCitation): void {
    const { annotations } = this.#open('output_text');
    const annotation = urlCitation(citation);
    this.#emit({
      type: 'response.output_text.annotation.added',
      ...this.#at(),
      annotation_index: annotations.length,
      annotation,
    });
    annotations.push(annotation);
  }

  close(status: ItemStatus): void {
    this.#closePart();
    this.#final = messageItem(this.#place.id, status, this.#done);
    const { index } = this.#place;
    this.#emit({ type: 'response.output_item.done', output_index: index, item: this.#final });
  }

  snapshot(): ResponsesItem {
    if (this.#final !== undefined) return this.#final;
    const parts = this.#part === undefined ? this.#done : [...this.#done, finished(this.#part)];
    return messageItem(this.#place.id, 'incomplete', parts);
  }

  #open(type: MessagePart['type']): OpenPart {
    if (this.#part?.type === type) return this.#part;
    this.#closePart();
    const deltas =
      type === 'output_text'
        ? deltaFrame({ type: 'response.output_text.delta', ...this.#at(), logprobs: [] })
        : deltaFrame({ type: 'response.refusal.delta', ...this.#at() });
    const part: OpenPart = { type, deltas, text: new GrowingText(), annotations: [], logprobs: [] };
    this.#part = part;
    this.#emit({ type: 'response.content_part.added', ...this.#at(), part: finished(part) });
    return part;
  }

  #closePart(): void {
    if (this.#part === undefined) return;
    const part = finished(this.#part);
    const at = this.#at();
    if (part.type === 'output_text')
      this.#emit({ type: 'response.output_text.done', ...at, text: part.text, logprobs: part.logprobs });
    else this.#emit({ type: 'response.refusal.done', ...at, refusal: part.refusal });
    this.#emit({ type: 'response.content_part.done', ...at, part });
    this.#done.push(part);
    this.#part = undefined;
  }

  #at() {
    return { item_id: this.#place.id, output_index: this.#place.index, content_index: this.#done.length };
  }
}

function finished({ type, text, annotations, logprobs }: OpenPart): MessagePart {
  return type === 'refusal'
    ? { type, refusal: text.read() }
    : outputTextPart(text.read(), annotations, logprobs);
}
