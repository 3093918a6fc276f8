import type { ToolArguments } from './chat-event.ts';
import { GrowingText } from './growing-text.ts';
import type { Progress } from './json-progress.ts';
import {
  type CallIdentity,
  callItem,
  customInput,
  type ItemStatus,
  type ResponsesItem,
  wholeArguments,
} from './responses-items.ts';
import type { Emit, ItemPlace } from './responses-open-item.ts';
import { deltaFrame, openDelta } from './sse-writer.ts';

/**
 * A call of a streamed response (responses.md). Arguments of a function are passed on as they arrive. The input of a
 * free-text tool is inside JSON, and is passed on in one piece at the end. A search has no deltas, because its item
 * contains everything.
 */
export class OpenCall {
  readonly #call: CallIdentity & ItemPlace;
  readonly #emit: Emit;
  readonly #deltas: string;
  readonly #text = new GrowingText();
  #progress: Progress = 'empty';
  #final: ResponsesItem | undefined;

  constructor(call: CallIdentity & ItemPlace, emit: Emit) {
    this.#call = call;
    this.#emit = emit;
    this.#deltas = deltaFrame({ type: 'response.function_call_arguments.delta', ...this.#at() });
    const item = callItem(call, 'in_progress', '');
    emit({ type: 'response.output_item.added', output_index: call.index, item });
  }

  /** Whether the arguments are complete, so that no further piece follows. */
  get isWhole(): boolean {
    return this.#progress === 'complete';
  }

  add({ text, progress }: ToolArguments): void {
    this.#progress = progress;
    this.#text.add(text);
    if (!this.#isCustom() && !this.#isSearch() && text !== '') this.#delta(text);
  }

  close(status: ItemStatus): void {
    if (this.#isCustom()) this.#closeCustom();
    else if (!this.#isSearch()) this.#closeFunction();
    this.#final = callItem(this.#call, status, this.#whole());
    this.#emit({ type: 'response.output_item.done', output_index: this.#call.index, item: this.#final });
  }

  snapshot(): ResponsesItem {
    return (
      this.#final ?? callItem(this.#call, 'incomplete', this.#isCustom() ? this.#whole() : this.#text.read())
    );
  }

  #closeFunction(): void {
    const whole = this.#whole();
    // Clients that join the deltas must get the same text.
    const text = this.#text.read();
    if (whole.length > text.length) this.#delta(whole.slice(text.length));
    this.#emit({
      type: 'response.function_call_arguments.done',
      ...this.#at(),
      name: this.#call.origin.name,
      arguments: whole,
    });
  }

  #closeCustom(): void {
    const input = this.#whole();
    if (input !== '')
      this.#emit({ type: 'response.custom_tool_call_input.delta', ...this.#at(), delta: input });
    this.#emit({ type: 'response.custom_tool_call_input.done', ...this.#at(), input });
  }

  #whole(): string {
    return this.#isCustom() ? customInput(this.#text.read()) : wholeArguments(this.#text.read());
  }

  #delta(delta: string): void {
    this.#emit(openDelta(this.#deltas, delta));
  }

  #isCustom(): boolean {
    return this.#call.origin.custom === true;
  }

  #isSearch(): boolean {
    return this.#call.origin.search === true;
  }

  #at() {
    return { item_id: this.#call.id, output_index: this.#call.index };
  }
}
