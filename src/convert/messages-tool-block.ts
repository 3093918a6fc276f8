import type { ToolArguments } from './chat-event.ts';
import type { Finish } from './finish-reason.ts';
import type { Progress } from './json-progress.ts';
import { UpstreamFault } from './upstream-fault.ts';

/**
 * The input of one streamed tool_use block. Pieces are passed on as they come, once it is sure that they begin an
 * object; a text that never was one (a broken model) is kept and given as `{"_raw": text}`, like in a plain reply.
 */
export class ToolInput {
  #progress: Progress = 'empty';
  readonly #raw: string[] = [];
  #sent = false;

  /** Whether another block may begin. */
  get complete(): boolean {
    return this.#progress === 'complete';
  }

  /** What to pass on of this piece; '' for nothing. Throws a `malformed` fault if an object becomes invalid after its start. */
  take({ text, progress }: ToolArguments): string {
    this.#progress = progress;
    if (progress === 'invalid' && this.#sent)
      throw new UpstreamFault('malformed', 'The model server sent tool arguments that are not JSON.');
    if (progress === 'invalid') this.#raw.push(text);
    if (progress === 'invalid' || progress === 'empty') return '';
    this.#sent = true;
    return text;
  }

  /** What is left to pass on at the end. Throws a `truncated` fault for arguments that stop although no limit cut them. */
  end(finish: Finish): string {
    const cut = finish === 'length' || finish === 'filter';
    if (this.#progress === 'partial' && !cut)
      throw new UpstreamFault(
        'truncated',
        'The model server ended a tool call before its arguments were complete.',
      );
    const raw = this.#raw.join('');
    if (this.#progress !== 'invalid' || cut || raw.trim() === 'null') return '';
    return JSON.stringify({ _raw: raw });
  }
}
