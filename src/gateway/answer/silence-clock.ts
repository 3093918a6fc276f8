/**
 * A listener of a SilenceClock, and a link of its lists. With Sets in place of lists, 5,000 short streams a second were a
 * third slower, and the first chunk of 1 in 100 came 80 ms late.
 */
export abstract class SilenceListener {
  /** The turn of the clock in which it was last active; set by the listener. */
  heardAt = 0;
  /** Set by SilenceClock: the turn in which it checks this listener next, and the neighbours in the list of that turn. */
  dueAt = -1;
  before: SilenceListener | undefined;
  after: SilenceListener | undefined;

  /** It was not active during the clock's time. */
  abstract silent(): void;
  /** What `silent` has thrown; must not throw. */
  abstract failed(error: unknown): void;
}

/** Turns in the clock's time, unless a turn would be shorter than `leastTurnMs`. */
const mostTurns = 150;
const leastTurnMs = 10;

/**
 * Notifies listeners that were silent, all that are due in one go: with one timer for each open stream, each keep-alive woke
 * a sleeping process, which took longer than writing it. A listener is checked once in the clock's time, however often it
 * is active. Silence is noticed at most one turn late: 100 ms of 15 s.
 */
export class SilenceClock {
  /** The number of this turn. */
  turn = 0;
  readonly #turnMs: number;
  /** Turns after which the time has certainly passed, one more than it has. */
  readonly #turns: number;
  /** The first listener of each turn's list, by turn modulo the number of turns. */
  readonly #due: (SilenceListener | undefined)[];
  #followed = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `silenceMs`: the time without activity after which listeners are notified. */
  constructor(silenceMs: number) {
    const turns = Math.min(mostTurns, Math.ceil(silenceMs / leastTurnMs));
    this.#turnMs = silenceMs / turns;
    this.#turns = turns + 1;
    this.#due = new Array(this.#turns).fill(undefined);
  }

  /** From now on `listener` is notified of silence, again after each further `silenceMs`. */
  follow(listener: SilenceListener): void {
    listener.heardAt = this.turn;
    this.#put(listener);
    this.#followed += 1;
    this.#timer ??= setInterval(() => this.#next(), this.#turnMs).unref();
  }

  /** May be called for a listener that is not followed. */
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
    // A notified listener may make the clock forget others.
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
