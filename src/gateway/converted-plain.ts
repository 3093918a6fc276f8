import { readChatBody } from '../convert/chat-body.ts';
import type { ChatAnswer } from '../convert/chat-reply.ts';
import { UpstreamFault } from '../convert/upstream-fault.ts';
import type { UpstreamHeaders } from '../upstream/headers.ts';
import type { CallerListener } from './caller.ts';
import { CollectedAnswer } from './collected-answer.ts';
import { answerFault, maskFault } from './converted-failure.ts';
import { type ConvertedOptions, sendNextChat } from './converted-request.ts';
import type { Failure } from './failure.ts';
import { callerHeaders } from './headers.ts';
import { addTokenUsage, chatTokenUsage } from './token-usage.ts';

/**
 * An attempt whose answer is converted as a whole. A request of several choices asks the node for each, a few at one
 * time, and answers when all are there. Until then it can fail unseen.
 */
export class ConvertedPlain implements CallerListener {
  readonly #options: ConvertedOptions;
  readonly #asked = new Set<CollectedAnswer>();
  readonly #answers: ChatAnswer[] = [];
  #next = 0;
  #left: number;
  /** The one that failed: what it says of that may still be coming. */
  #failed: CollectedAnswer | undefined;
  #over = false;

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
    this.#options.settle({ kind: 'gone' });
  }

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
      failed: (failure) => {
        this.#asked.delete(answer);
        if (!this.#over) this.#failed = answer;
        this.#fail(failure);
      },
    });
    this.#asked.add(answer);
  }

  #take(choice: number, body: Buffer, headers: UpstreamHeaders): void {
    try {
      this.#answers[choice] = readChatBody(body);
      this.#left -= 1;
      if (this.#left > 0) this.#ask();
      else this.#answer(headers);
    } catch (error) {
      this.#fail(answerFault(maskFault(this.#faultOf(error), this.#options.connection), headers));
    }
  }

  #answer(upstream: UpstreamHeaders): void {
    const { caller, converted, headers, candidate, reports, onLost, settle } = this.#options;
    const { json, lost } = converted.reply(this.#answers);
    this.#over = true;
    onLost(lost);
    if (caller.record !== undefined) {
      caller.record.tokens = this.#answers.map(({ usage }) => chatTokenUsage(usage)).reduce(addTokenUsage);
    }
    caller.answerJson(200, json, [...headers, ...callerHeaders(upstream)]);
    reports.ended(candidate, 200);
    settle({ kind: 'answering' });
  }

  #faultOf(error: unknown): UpstreamFault {
    if (error instanceof UpstreamFault) return error;
    const { log, caller } = this.#options;
    log.error({ err: error, requestId: caller.requestId }, 'An answer could not be converted');
    return new UpstreamFault('malformed', 'The answer of the model server could not be converted.');
  }

  #fail(failure: Failure) {
    if (this.#over) return;
    this.#stop();
    this.#options.settle({ kind: 'failed', failure });
  }

  #stop(): void {
    this.#over = true;
    for (const answer of this.#asked) answer.abort();
  }
}
