/** Somebody who is told of silence. */
export interface SilenceListener {
  /** The turn of the clock in which it last heard something; whoever hears sets it. */
  heardAt: number;
  /** The turn in which the clock looks at it next. */
  dueAt: number;
  /** Nothing was heard for the clock's time. */
  silent(): void;
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
  /** Who is looked at when, by turn within a round. */
  readonly #due: readonly Set<SilenceListener>[];
  #followed = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `silenceMs` is how long nothing must have been heard. */
  constructor(silenceMs: number) {
    const turns = Math.min(mostTurns, Math.ceil(silenceMs / leastTurnMs));
    this.#turnMs = silenceMs / turns;
    this.#turns = turns + 1;
    this.#due = Array.from({ length: this.#turns }, () => new Set());
  }

  /** From now on `listener` is told, again after each time of silence. */
  follow(listener: SilenceListener): void {
    listener.heardAt = this.turn;
    listener.dueAt = this.turn + this.#turns;
    this.#dueAt(listener.dueAt).add(listener);
    this.#followed += 1;
    this.#timer ??= setInterval(() => this.#next(), this.#turnMs).unref();
  }

  /** May be called of one that is not followed. */
  forget(listener: SilenceListener): void {
    if (!this.#dueAt(listener.dueAt).delete(listener)) return;
    this.#followed -= 1;
    if (this.#followed > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #next(): void {
    this.turn += 1;
    const due = this.#dueAt(this.turn);
    for (const listener of due) {
      if (listener.heardAt + this.#turns > this.turn) {
        due.delete(listener);
        listener.dueAt = listener.heardAt + this.#turns;
        this.#dueAt(listener.dueAt).add(listener);
      } else {
        // It stays: a round later it is this set's turn again.
        listener.heardAt = this.turn;
        listener.dueAt = this.turn + this.#turns;
        listener.silent();
      }
    }
  }

  #dueAt(turn: number): Set<SilenceListener> {
    return this.#due[turn % this.#turns] ?? nobody;
  }
}

const nobody: Set<SilenceListener> = new Set();
