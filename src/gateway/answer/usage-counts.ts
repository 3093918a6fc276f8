/** Longest usage that is read. */
const longest = 2 * 1024;

/** Names of counts by their length, which excludes nearly all other names. */
const names: (readonly (readonly [bytes: Buffer, field: Field])[] | undefined)[] = [];

type Field =
  | 'prompt'
  | 'completion'
  | 'input'
  | 'output'
  | 'cached'
  | 'hit'
  | 'read'
  | 'written'
  | 'reasoning'
  | 'thinking';

for (const [name, field] of [
  ['prompt_tokens', 'prompt'],
  ['completion_tokens', 'completion'],
  ['input_tokens', 'input'],
  ['output_tokens', 'output'],
  ['cached_tokens', 'cached'],
  ['prompt_cache_hit_tokens', 'hit'],
  ['cache_read_input_tokens', 'read'],
  ['cache_creation_input_tokens', 'written'],
  ['reasoning_tokens', 'reasoning'],
  ['thinking_tokens', 'thinking'],
] as const) {
  names[name.length] = [...(names[name.length] ?? []), [Buffer.from(name), field]];
}

/** The counts of one `usage` object, by any format's names for them. -1: not reported. */
export class UsageCounts {
  prompt = -1;
  completion = -1;
  input = -1;
  output = -1;
  cached = -1;
  hit = -1;
  read = -1;
  written = -1;
  reasoning = -1;
  thinking = -1;

  /** Reads the object that follows `"usage"`, whose name ends at `start`. Returns false if there is none. */
  readAt(bytes: Buffer, start: number): boolean {
    this.#clear();
    const end = Math.min(bytes.length, start + longest);
    let at = start;
    while (at < end && isBetween(bytes[at])) at += 1;
    if (bytes[at] !== 0x7b) return false;
    for (let depth = 0; at < end; ) {
      const byte = bytes[at];
      at += 1;
      if (byte === 0x22) at = this.#readMember(bytes, at, end);
      else if (byte === 0x7b || byte === 0x5b) depth += 1;
      else if (byte === 0x7d || byte === 0x5d) {
        depth -= 1;
        if (depth === 0) break;
      }
    }
    return true;
  }

  /** Copies the counts that are missing here. */
  fillFrom({ input, read, written }: UsageCounts): void {
    if (this.input < 0) this.input = input;
    if (this.read < 0) this.read = read;
    if (this.written < 0) this.written = written;
  }

  #clear(): void {
    this.prompt = -1;
    this.completion = -1;
    this.input = -1;
    this.output = -1;
    this.cached = -1;
    this.hit = -1;
    this.read = -1;
    this.written = -1;
    this.reasoning = -1;
    this.thinking = -1;
  }

  /** Reads a member whose name begins at `start`, or skips a text. Returns where it ends. */
  #readMember(bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end && bytes[at] !== 0x22) at += bytes[at] === 0x5c ? 2 : 1;
    const length = at - start;
    at += 1;
    while (at < end && isBetween(bytes[at])) at += 1;
    let digit = digitOf(bytes[at]);
    if (digit < 0) return at;
    let value = 0;
    for (; digit >= 0 && at < end; digit = digitOf(bytes[at])) {
      value = value * 10 + digit;
      at += 1;
    }
    const field = length < names.length ? fieldOf(bytes, start, length) : undefined;
    // Only the first count of a field is used, because it is the sum; counts of its parts follow.
    if (field !== undefined && this[field] < 0) this[field] = Math.min(value, Number.MAX_SAFE_INTEGER);
    return at;
  }
}

function fieldOf(bytes: Buffer, start: number, length: number): Field | undefined {
  const candidates = names[length];
  if (candidates === undefined) return undefined;
  for (const [name, field] of candidates) {
    let same = 0;
    while (same < length && bytes[start + same] === name[same]) same += 1;
    if (same === length) return field;
  }
  return undefined;
}

/** A colon or white space. */
function isBetween(byte: number | undefined): boolean {
  return byte === 0x3a || byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** -1 if it is not a number. */
function digitOf(byte: number | undefined): number {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : -1;
}
