import { readChatBody } from '../../convert/chat-body.ts';
import type { ChatAnswer } from '../../convert/chat-reply.ts';
import { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { UpstreamHeaders } from '../../upstream/headers.ts';
import type { CallerListener } from '../answer/caller.ts';
import { CollectedAnswer } from '../answer/collected-answer.ts';
import { addTokenUsage, chatTokenUsage } from '../answer/token-usage.ts';
import { endByFault, type Interrupted } from '../attempt/end-by-fault.ts';
import { type Failure, faultFailure } from '../attempt/failure.ts';
import { callerHeaders } from '../attempt/headers.ts';
import { type ConvertedOptions, sendNextChat } from './converted-request.ts';
import { maskFault } from './mask-fault.ts';

/**
 * An attempt whose answer is converted as a whole. A request of several choices asks the node for each, a few at one
 * time, and answers when all are there. Until then it can fail unseen.
 */
export class ConvertedPlain implements CallerListener, Interrupted {
  readonly #options: ConvertedOptions;
  readonly #asked = new Set<CollectedAnswer>();
  readonly #answers: ChatAnswer[] = [];
  #next = 0;
  #left: number;
  /** The one that failed: what it says of that may still be coming. */
  #failed: CollectedAnswer | undefined;
  #over = false;
  /** Whether this attempt no longer answers the caller: another node may be tried, or the caller left. */
  #isHandedBack = false;

  constructor(options: ConvertedOptions) {
    this.#options = options;
    this.#left = options.converted.choices;
    options.caller.listener = this;
    for (let started = 0; started < options.limits.choicesAtOnce; started++) this.#ask();
  }

  drained(): void {}

  silent(): void {}

  gone(): void {
    this.#failed?.abort();
    if (this.#over) return;
    this.#stop();
    this.#isHandedBack = true;
    this.#options.settle('gone');
  }

  failed(error: unknown): void {
    if (this.#isHandedBack) this.#options.caller.caught('answer', error);
    else endByFault(error, this.#options, this);
  }

  abort(): void {
    this.#failed?.abort();
    this.#stop();
  }

  /** An answer that is one text can only be broken off. */
  lastWords(): undefined {}

  broke(): void {}

  #ask(): void {
    const { converted } = this.#options;
    const choice = this.#next;
    if (choice === converted.choices || this.#over) return;
    this.#next += 1;
    const answer = new CollectedAnswer((handler) => sendNextChat(this.#options, handler), this.#options, {
      answered: (body, headers) => {
        this.#asked.delete(answer);
        this.#take(choice, body, headers);
      },
      failed: (error) => this.failed(error),
      failedWith: (failure) => {
        this.#asked.delete(answer);
        if (!this.#over) this.#failed = answer;
        this.#fail(failure);
      },
    });
    this.#asked.add(answer);
  }

  #take(choice: number, body: Buffer, headers: UpstreamHeaders): void {
    let reply: ReturnType<ConvertedOptions['converted']['reply']> | undefined;
    try {
      this.#answers[choice] = readChatBody(body);
      this.#left -= 1;
      if (this.#left === 0) reply = this.#options.converted.reply(this.#answers);
    } catch (error) {
      this.#fail(faultFailure(maskFault(this.#faultOf(error), this.#options.connection), headers));
      return;
    }
    if (reply === undefined) this.#ask();
    else this.#answer(reply, headers);
  }

  #answer(
    { json, lost }: ReturnType<ConvertedOptions['converted']['reply']>,
    upstream: UpstreamHeaders,
  ): void {
    const { caller, headers, candidate, reports, onLost, settle } = this.#options;
    this.#over = true;
    onLost(lost);
    if (caller.record !== undefined) {
      caller.record.tokens = this.#answers.map(({ usage }) => chatTokenUsage(usage)).reduce(addTokenUsage);
    }
    caller.answerJson(200, json, callerHeaders(upstream, [...headers]));
    reports.ended(candidate, 200);
    settle('answering');
  }

  #faultOf(error: unknown): UpstreamFault {
    if (error instanceof UpstreamFault) return error;
    this.#options.caller.caught('answer', error);
    return new UpstreamFault('malformed', 'The answer of the model server could not be converted.');
  }

  #fail(failure: Failure) {
    if (this.#over) return;
    this.#stop();
    this.#isHandedBack = true;
    this.#options.settle(failure);
  }

  #stop(): void {
    this.#over = true;
    for (const answer of this.#asked) answer.abort();
  }
}
