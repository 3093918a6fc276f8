/**
 * Somebody who is told of silence; a link of the clock's lists. With Sets in their place, 5,000 short streams a second were
 * a third slower and the first chunk of 1 in 100 came 80 ms late: tables that a Set has outgrown keep what they held.
 */
export abstract class SilenceListener {
  /** The turn of the clock in which it last heard something; whoever hears sets it. */
  heardAt = 0;
  /** The rest is of SilenceClock: the turn in which it looks here next, and the neighbours in the list of that turn. */
  dueAt = -1;
  before: SilenceListener | undefined;
  after: SilenceListener | undefined;

  /** Nothing was heard for the clock's time. */
  abstract silent(): void;
  /** What `silent` has thrown; must not throw. */
  abstract failed(error: unknown): void;
}

/** Turns in the clock's time, where they are not shorter than `leastTurnMs` by that. */
const mostTurns = 150;
const leastTurnMs = 10;

/**
 * Tells listeners of their silence, all that are due together: with a timer for each open stream a sleeping process was
 * woken for each keep-alive, which took longer than writing it. A listener is looked at once in the clock's time, however
 * often it hears something. Silence is noticed a turn late at most: 100 ms of 15 s.
 */
export class SilenceClock {
  /** The number of this turn. */
  turn = 0;
  readonly #turnMs: number;
  /** Turns after which the time has passed, at whatever moment of its turn something was heard. */
  readonly #turns: number;
  /** The first of those who are looked at in a turn, by turn within a round. */
  readonly #due: (SilenceListener | undefined)[];
  #followed = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `silenceMs` is how long nothing must have been heard. */
  constructor(silenceMs: number) {
    const turns = Math.min(mostTurns, Math.ceil(silenceMs / leastTurnMs));
    this.#turnMs = silenceMs / turns;
    this.#turns = turns + 1;
    this.#due = new Array(this.#turns).fill(undefined);
  }

  /** From now on `listener` is told, again after each time of silence. */
  follow(listener: SilenceListener): void {
    listener.heardAt = this.turn;
    this.#put(listener);
    this.#followed += 1;
    this.#timer ??= setInterval(() => this.#next(), this.#turnMs).unref();
  }

  /** May be called of one that is not followed. */
  forget(listener: SilenceListener): void {
    const { before, after, dueAt } = listener;
    if (dueAt === -1) return;
    if (before !== undefined) before.after = after;
    else this.#due[dueAt % this.#turns] = after;
    if (after !== undefined) after.before = before;
    listener.before = undefined;
    listener.after = undefined;
    listener.dueAt = -1;
    this.#followed -= 1;
    if (this.#followed > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #next(): void {
    this.turn += 1;
    const place = this.turn % this.#turns;
    const silent: SilenceListener[] = [];
    let listener = this.#due[place];
    this.#due[place] = undefined;
    while (listener !== undefined) {
      const { after } = listener as SilenceListener;
      if (listener.heardAt + this.#turns <= this.turn) {
        listener.heardAt = this.turn;
        silent.push(listener);
      }
      this.#put(listener);
      listener = after;
    }
    // Telling one may make others be forgotten.
    for (const one of silent) {
      if (one.dueAt === -1) continue;
      try {
        one.silent();
      } catch (error) {
        one.failed(error);
      }
    }
  }

  #put(listener: SilenceListener): void {
    listener.dueAt = listener.heardAt + this.#turns;
    const place = listener.dueAt % this.#turns;
    const first = this.#due[place];
    if (first !== undefined) first.before = listener;
    listener.before = undefined;
    listener.after = first;
    this.#due[place] = listener;
  }
}
