/** A check is late by at most this. */
const longestTurnMs = 100;
/** Checks that are due later than these turns are listed in the last of them, and then again. */
const turns = 300;
const notListed = -1;

/**
 * Something that may time out, and a link of the lists of Deadlines. With Sets in place of lists, 5,000 short streams a second
 * were a third slower, and the first chunk of 1 in 100 came 80 ms late.
 */
export abstract class Deadline {
  /** Set by Deadlines. When the next check is due, by its clock; the turn of that check; the neighbours in that turn's list. */
  checkAtMs = Number.POSITIVE_INFINITY;
  turn = notListed;
  before: Deadline | undefined;
  after: Deadline | undefined;

  /** Acts if a time has passed. Returns when the next check is due; Infinity if there is none. */
  abstract check(nowMs: number): number;
  /** Receives what `check` threw, which is then repeated. Must not throw. */
  abstract failed(error: unknown): void;
}

/**
 * Checks everything that may time out, with one timer: silent streams, bodies that callers send, requests to nodes, idle
 * connections. Two timers for each body cost more than reading a short one; one timer for each of thousands of streams
 * kept waking a sleeping process. Each deadline is looked at only when its check is due.
 */
export class Deadlines {
  readonly #clock: () => number;
  readonly #turnMs: number;
  /** The first deadline of every list, by turn modulo `turns`. */
  readonly #lists: (Deadline | undefined)[] = new Array(turns).fill(undefined);
  /** The turn whose checks were made last. */
  #turn = 0;
  #listed = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * A check is late by at most a quarter of `shortestMs`, and never by more than 100 ms. `clock` is monotonic, in milliseconds.
   */
  constructor(shortestMs = Number.POSITIVE_INFINITY, clock: () => number = () => performance.now()) {
    this.#turnMs = Math.min(longestTurnMs, shortestMs / 4);
    this.#clock = clock;
  }

  /** `deadline` is checked at `checkAtMs`, and not before. */
  watch(deadline: Deadline, checkAtMs: number): void {
    deadline.checkAtMs = checkAtMs;
    if (this.#timer === undefined) {
      this.#turn = Math.floor(this.#clock() / this.#turnMs);
      this.#timer = setInterval(() => this.#checkAll(), this.#turnMs).unref();
    }
    // Its present turn comes first, and lists it again then: moving it for each request would cost more.
    if (deadline.turn !== notListed && deadline.turn <= this.#turnOf(checkAtMs)) return;
    this.#unlist(deadline);
    this.#list(deadline);
  }

  /** May be called for one that is not watched. */
  forget(deadline: Deadline): void {
    deadline.checkAtMs = Number.POSITIVE_INFINITY;
    this.#unlist(deadline);
  }

  #checkAll(): void {
    const nowMs = this.#clock();
    const now = Math.floor(nowMs / this.#turnMs);
    // If the event loop was blocked for long, one round reaches every list.
    if (now - this.#turn > turns) this.#turn = now - turns;
    while (this.#turn < now) {
      this.#turn += 1;
      const place = this.#turn % turns;
      for (let next = this.#lists[place]; next !== undefined; next = this.#lists[place]) {
        this.#unlist(next);
        if (nowMs >= next.checkAtMs) checkOne(next, nowMs);
        const isListed = next.turn !== notListed;
        if (!isListed && next.checkAtMs < Number.POSITIVE_INFINITY) this.#list(next);
      }
    }
    if (this.#listed > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #turnOf(checkAtMs: number): number {
    return Math.min(Math.max(Math.ceil(checkAtMs / this.#turnMs), this.#turn + 1), this.#turn + turns - 1);
  }

  #list(deadline: Deadline): void {
    deadline.turn = this.#turnOf(deadline.checkAtMs);
    const place = deadline.turn % turns;
    const first = this.#lists[place];
    if (first !== undefined) first.before = deadline;
    deadline.after = first;
    this.#lists[place] = deadline;
    this.#listed += 1;
  }

  #unlist(deadline: Deadline): void {
    const { before, after, turn } = deadline;
    if (turn === notListed) return;
    if (before !== undefined) before.after = after;
    else this.#lists[turn % turns] = after;
    if (after !== undefined) after.before = before;
    deadline.before = undefined;
    deadline.after = undefined;
    deadline.turn = notListed;
    this.#listed -= 1;
  }
}

/** Checks one deadline. Catches its errors, so that the other deadlines are still checked. */
function checkOne(deadline: Deadline, nowMs: number): void {
  // If `check` calls `watch` or `forget`, what they set counts, and not what it returns.
  deadline.checkAtMs = nowMs;
  try {
    const next = deadline.check(nowMs);
    if (deadline.checkAtMs === nowMs) deadline.checkAtMs = next;
  } catch (error) {
    deadline.failed(error);
  }
}
