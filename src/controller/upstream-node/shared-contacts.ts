import type { Urgency } from '../queue.ts';
import type { Contacts, Place } from './contacts.ts';
import type { ContactKind } from './memory.ts';
import type { Answer } from './verdict.ts';

/** What a node wants to know. Nodes with the same `key` get the same answer. */
export interface Question {
  /** A digest of the kind, the address, the credential and all else that decides the answer. */
  readonly key: string;
  readonly kind: ContactKind;
  readonly place: Place;
  readonly urgency: Urgency;
  /** An answer to another node's check is used if it is at most this old. */
  readonly freshMs: number;
}

/** An answer, and when it came, in milliseconds since 1970. */
export interface Answered {
  readonly answer: Answer;
  readonly atMs: number;
}

interface Open {
  readonly urgency: Urgency;
  readonly abort: AbortController;
  readonly answered: Promise<Answered | undefined>;
  begun: boolean;
  askers: number;
}

/** How long the answer to a check is kept: longer than any `freshMs`. */
const keptMs = 15 * 60_000;

/**
 * Nodes with the same address and the same credential, such as those of many teams at one vendor, share their contacts: a node joins
 * a contact that waits or is under way, or uses the answer to a recent check.
 */
export class SharedContacts {
  readonly #contacts: Contacts;
  readonly #now: () => number;
  readonly #open = new Map<string, Open>();
  /** Answers to checks, the oldest first. Lists of models are not kept, because they may be large. */
  readonly #recent = new Map<string, Answered>();

  /** `now` gives milliseconds since 1970. */
  constructor(contacts: Contacts, now: () => number) {
    this.#contacts = contacts;
    this.#now = now;
  }

  /**
   * The answer to a question. Undefined if `signal` aborted, or if the node whose connection was used for all was deleted. `run`
   * asks; it must not reject, and returns undefined if its signal aborts.
   */
  ask(
    question: Question,
    signal: AbortSignal,
    run: (signal: AbortSignal) => Promise<Answer | undefined>,
  ): Promise<Answered | undefined> {
    const { key, urgency, freshMs } = question;
    const recent = this.#recent.get(key);
    if (urgency === 'Background' && recent !== undefined && this.#now() - recent.atMs <= freshMs) {
      return Promise.resolve(recent);
    }
    const known = this.#open.get(key);
    // After an edit the contact must begin later than the edit, and before those that nobody waits for.
    const isJoined =
      known !== undefined && (urgency === 'Background' || (known.urgency === 'Urgent' && !known.begun));
    const open = isJoined ? known : this.#begin(question, signal, run);
    open.askers += 1;
    const leave = (): void => {
      open.askers -= 1;
      if (open.askers === 0) open.abort.abort();
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    void open.answered.then(() => signal.removeEventListener('abort', leave));
    return open.answered;
  }

  #begin(
    { key, kind, place, urgency }: Question,
    asker: AbortSignal,
    run: (signal: AbortSignal) => Promise<Answer | undefined>,
  ): Open {
    const abort = new AbortController();
    const { promise: answered, resolve } = Promise.withResolvers<Answered | undefined>();
    const open: Open = { urgency, abort, answered, begun: false, askers: 0 };
    this.#open.set(key, open);
    const end = (result: Answered | undefined): void => {
      if (this.#open.get(key) === open) this.#open.delete(key);
      resolve(result);
    };
    abort.signal.addEventListener('abort', () => end(undefined), { once: true });
    this.#contacts.add(place, urgency, abort.signal, async () => {
      open.begun = true;
      const answer = await run(abort.signal);
      // The contact used the pool of the node that asked first; deleting that node closes the pool.
      const isLost = asker.aborted && answer?.kind === 'failed';
      if (answer === undefined || isLost) return end(undefined);
      const result = { answer, atMs: this.#now() };
      if (kind === 'check') this.#keep(key, result);
      end(result);
    });
    return open;
  }

  #keep(key: string, result: Answered): void {
    this.#recent.delete(key);
    this.#recent.set(key, result);
    for (const [old, { atMs }] of this.#recent) {
      if (result.atMs - atMs <= keptMs) return;
      this.#recent.delete(old);
    }
  }
}
