import type { ChatUsage } from '../../convert/chat-usage.ts';
import type { TokenUsage } from '../../observe/request-record.ts';
import { UsageCounts } from './usage-counts.ts';

const field = Buffer.from('"usage"');
/** Usage is nearly always in the last bytes of an answer, followed by a few fields. */
const nearBytes = 512;
/** How far before the end usage is searched: members that repeat the request, such as `metadata`, may follow it. */
const farBytes = 32 * 1024;
/** How many `"usage":null` may follow the usage: some nodes write one into each chunk. */
const mostEmpty = 4;
/** How many bytes of the last piece but one are searched for usage. */
const earlierBytes = 4 * 1024;

// Shared: reading is synchronous, so that no two requests use it at the same time.
const counts = new UsageCounts();
const early = new UsageCounts();

/**
 * The last usage in these bytes, in any format: a JSON answer or the end of a stream. It is searched from the end and read
 * in place, because parsing an answer would cost more than everything else that is done with it. In a model's text the
 * quotes of `"usage"` are escaped, so that it is not found there. Returns undefined if there is none. `start` is the first
 * event of a Messages stream, which has counts that its end may leave out.
 */
export function readTokenUsage(bytes: Buffer, start?: Buffer): TokenUsage | undefined {
  if (!readLast(bytes, counts)) return undefined;
  if (counts.prompt >= 0 || counts.completion >= 0) {
    return usage(counts.prompt, counts.completion, told(counts.cached, counts.hit), counts.reasoning);
  }
  if (counts.input < 0 && counts.output < 0) return undefined;
  if (counts.input < 0 && start !== undefined && readLast(start, early)) counts.fillFrom(early);
  const { input, output, read, written } = counts;
  // Messages does not include cached tokens in its input tokens.
  const all = Math.max(0, input) + Math.max(0, read) + Math.max(0, written);
  return usage(all, output, told(counts.cached, read), told(counts.reasoning, counts.thinking));
}

/** The usage of an answer in pieces, searched in the last two. */
export function lastTokenUsage(
  last: Buffer | undefined,
  lastButOne: Buffer | undefined,
): TokenUsage | undefined {
  if (last === undefined) return undefined;
  const found = readTokenUsage(last);
  if (found !== undefined || lastButOne === undefined) return found;
  return readTokenUsage(Buffer.concat([lastButOne.subarray(-earlierBytes), last]));
}

/** The usage of a chat answer that was parsed for a conversion; undefined if the node reported none. */
export function chatTokenUsage(said: ChatUsage): TokenUsage | undefined {
  const { prompt, completion, cacheRead = 0, reasoning = 0 } = said;
  return prompt === 0 && completion === 0 ? undefined : usage(prompt, completion, cacheRead, reasoning);
}

/** The sum over several answers to one request. */
export function addTokenUsage(
  one: TokenUsage | undefined,
  other: TokenUsage | undefined,
): TokenUsage | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return usage(
    one.input + other.input,
    one.output + other.output,
    one.cached + other.cached,
    one.reasoning + other.reasoning,
  );
}

/** Below 0: not reported. */
function usage(input: number, output: number, cached: number, reasoning: number): TokenUsage {
  return {
    input: Math.max(0, input),
    output: Math.max(0, output),
    cached: Math.max(0, cached),
    reasoning: Math.max(0, reasoning),
  };
}

function told(one: number, other: number): number {
  return one >= 0 ? one : other;
}

function readLast(bytes: Buffer, into: UsageCounts): boolean {
  let at = findNear(bytes);
  if (at === -1) {
    const from = Math.max(0, bytes.length - farBytes);
    at = bytes.subarray(from).lastIndexOf(field);
    if (at !== -1) at += from;
  }
  for (let empty = 0; at !== -1 && empty < mostEmpty; empty++) {
    if (into.readAt(bytes, at + field.length)) return true;
    at = at === 0 ? -1 : bytes.lastIndexOf(field, at - 1);
  }
  return false;
}

/** Faster than `lastIndexOf` near the end. */
function findNear(bytes: Buffer): number {
  const first = Math.max(0, bytes.length - nearBytes);
  for (let at = bytes.length - field.length; at >= first; at--) {
    if (
      bytes[at] === 0x22 &&
      bytes[at + 1] === 0x75 &&
      bytes[at + 2] === 0x73 &&
      bytes[at + 3] === 0x61 &&
      bytes[at + 6] === 0x22
    ) {
      return at;
    }
  }
  return -1;
}
