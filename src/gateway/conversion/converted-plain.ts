import { readChatBody } from '../../convert/chat-body.ts';
import type { ChatAnswer } from '../../convert/chat-reply.ts';
import type { ChatUsage } from '../../convert/chat-usage.ts';
import { portableState } from '../../convert/portable-state.ts';
import { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { UpstreamHeaders } from '../../upstream/headers.ts';
import type { CallerListener } from '../answer/caller.ts';
import { CallerGone, stillThere } from '../answer/caller-gone.ts';
import { CollectedAnswer } from '../answer/collected-answer.ts';
import { chatTokenUsage } from '../answer/token-usage.ts';
import { AttemptEnd, type Interruptible } from '../attempt/attempt-end.ts';
import { type Failure, faultFailure } from '../attempt/failure.ts';
import { callerHeaders } from '../attempt/headers.ts';
import { largeBytes } from '../thread/large-work.ts';
import { type ConvertedOptions, sendNextChat } from './converted-request.ts';
import { maskFault } from './mask-fault.ts';

/** Bytes of a large answer that are written in one go. */
const pieceBytes = 64 * 1024;

/**
 * An attempt whose answer is converted as a whole. A request of several choices asks the node for each, a few at the same
 * time, and answers when all are there. Until then another node can be tried.
 */
export class ConvertedPlain implements CallerListener, Interruptible {
  readonly #options: ConvertedOptions;
  readonly #end: AttemptEnd;
  readonly #asked = new Set<CollectedAnswer>();
  readonly #answers: ChatAnswer[] = [];
  /** The answers as they came, for a request with several choices or with a large answer. */
  readonly #bodies: Buffer[] = [];
  #isLarge = false;
  /** Bytes of answers that count in the key's share of the memory, until the converted answer is written. */
  #held = 0;
  /** Whether the thread has the answers, or will get them. */
  #isElsewhere = false;
  /** The rest of a large answer, which is not written yet. */
  #unwritten: Uint8Array | undefined;
  #next = 0;
  #left: number;
  /** The answer that failed: its error body may still arrive. */
  #failed: CollectedAnswer | undefined;
  #over = false;

  constructor(options: ConvertedOptions) {
    this.#options = options;
    this.#end = new AttemptEnd(options);
    this.#left = options.converted.choices;
    options.caller.listener = this;
    for (let started = 0; started < options.limits.choicesAtOnce; started++) this.#ask();
  }

  drained(): void {
    this.#pour();
  }

  silent(): void {}

  gone(): void {
    this.#failed?.abort();
    if (this.#unwritten !== undefined) this.#giveBack();
    if (this.#over) return;
    this.#stop();
    this.#end.gone();
  }

  failed(error: unknown): void {
    this.#end.fault(error, this);
  }

  abort(): void {
    this.#failed?.abort();
    this.#stop();
  }

  /** An answer that is one JSON text can only be broken off. */
  lastWords(): undefined {}

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
    this.#held += body.length;
    try {
      this.#bodies[choice] = body;
      if (body.length > largeBytes) this.#isLarge = true;
      else this.#answers[choice] = readChatBody(body);
      this.#left -= 1;
      if (this.#left === 0 && this.#isLarge) {
        this.#convertElsewhere(headers);
        return;
      }
      if (this.#left === 0) reply = this.#options.converted.reply(this.#answers);
    } catch (error) {
      this.#fail(faultFailure(maskFault(this.#faultOf(error), this.#options.connection), headers));
      return;
    }
    if (reply === undefined) {
      this.#ask();
      return;
    }
    this.#answer(
      reply,
      this.#answers.map(({ usage }) => usage),
      () => this.#options.caller.answerJson(200, reply.json, this.#headers(headers)),
    );
  }

  /** Converts a large answer in the thread, because it would block the event loop for too long. */
  #convertElsewhere(headers: UpstreamHeaders): void {
    const { largeWork, share, conversion, converted } = this.#options;
    this.#isElsewhere = true;
    largeWork
      .run('reply', { owner: share.owner, bytes: this.#held }, () => {
        stillThere({ gone: this.#over });
        const answers = this.#bodies.splice(0).map((body) => new Uint8Array(body));
        return {
          wish: { format: conversion.format, answers, state: portableState(converted.state) },
          transfer: answers.map(({ buffer }) => buffer),
        };
      })
      .then((result) => {
        if (this.#over) return;
        if ('fault' in result) {
          const { kind, message, ...details } = result.fault;
          const fault = new UpstreamFault(kind, message, details);
          return this.#fail(faultFailure(maskFault(fault, this.#options.connection), headers));
        }
        this.#answer(result, result.usage, () => {
          const { json } = result;
          this.#options.caller.beginJson(200, json.length, this.#headers(headers));
          this.#unwritten = json;
          this.#pour();
        });
      })
      .catch((error: unknown) => {
        if (!(error instanceof CallerGone)) this.failed(error);
      })
      .finally(() => {
        this.#isElsewhere = false;
        if (this.#over && this.#unwritten === undefined) this.#giveBack();
      });
  }

  #giveBack(): void {
    this.#options.share.give(this.#held);
    this.#held = 0;
    this.#unwritten = undefined;
    this.#bodies.length = 0;
  }

  /** Writes a large answer in pieces, as fast as the caller reads. */
  #pour(): void {
    const { caller } = this.#options;
    while (this.#unwritten !== undefined) {
      const piece = this.#unwritten.subarray(0, pieceBytes);
      const rest = this.#unwritten.subarray(pieceBytes);
      this.#unwritten = rest.length === 0 ? undefined : rest;
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
      if (this.#unwritten === undefined) {
        caller.end(bytes);
        this.#giveBack();
      } else if (!caller.write(bytes)) return;
    }
  }

  #headers(upstream: UpstreamHeaders): string[] {
    return callerHeaders(upstream, [...this.#options.headers]);
  }

  #answer(
    { lost }: { readonly lost: readonly string[] },
    usage: readonly ChatUsage[],
    write: () => void,
  ): void {
    this.#over = true;
    this.#options.onLost(lost);
    for (const used of usage) this.#end.used(chatTokenUsage(used));
    write();
    if (!this.#isLarge) this.#giveBack();
    this.#end.complete(200);
  }

  #faultOf(error: unknown): UpstreamFault {
    if (error instanceof UpstreamFault) return error;
    this.#options.caller.caught('answer', error);
    return new UpstreamFault('malformed', 'The answer of the model server could not be converted.');
  }

  #fail(failure: Failure) {
    if (this.#over) return;
    this.#stop();
    this.#end.failed(failure);
  }

  #stop(): void {
    this.#over = true;
    for (const answer of this.#asked) answer.abort();
    if (!this.#isElsewhere) this.#giveBack();
  }
}
