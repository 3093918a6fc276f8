import type { LineOutput } from './line-output.ts';
import { type LogFormat, type LogLevel, logLevels, textLines, withoutKeys, withoutSteering } from './log.ts';
import type { RequestRecord } from './request-record.ts';

/** Which requests are logged. A number is the share of successful requests; failed ones are always logged. */
export type AccessLogChoice = 'all' | 'failed' | 'off' | number;

/** What a line says about a request beyond the metrics' record. Nothing here comes from a request's body. */
export interface AccessRecord extends RequestRecord {
  readonly requestId: string;
  /** The caller's key, `namespace/name`. */
  readonly key: string | undefined;
  /** The model name that the caller sent, if some manifest has that name. */
  readonly asked: string | undefined;
  /** How attempts failed, by node. */
  readonly failed: readonly string[] | undefined;
  readonly conversion: string | undefined;
  readonly dropped: readonly string[] | undefined;
  /** Why an answer that had begun was cut off. */
  readonly broke: string | undefined;
  /** The message of the gateway's error. */
  readonly errorMessage: string | undefined;
  readonly traceId: string | undefined;
}

export type AccessLog = (record: AccessRecord) => void;

/** The statuses that say that no node could serve the request; 529 is 503 in the Anthropic shape. */
const upstreamTrouble: ReadonlySet<number> = new Set([502, 503, 504, 529]);
/** Longest error text or list in a line, in characters. */
const longestText = 500;
/** Lines per second: a caller that repeats a bad key at full speed must not fill a disk. */
const mostLines = 5_000;

/**
 * Writes one line of JSON for each request that `choice` selects, at level `warn` if no node could serve the request,
 * else at `info`. Requests that are not selected are logged at `debug`. Texts are bounded, and characters that could control
 * a terminal are escaped. Lines are concatenated here from names that were escaped once: a logger takes twice as long.
 *
 * `now` is in milliseconds since 1970, `random` in [0, 1).
 */
export function createAccessLog(options: {
  readonly choice: AccessLogChoice;
  readonly level: LogLevel;
  readonly role: string;
  readonly write: (line: string) => void;
  readonly now: () => number;
  readonly random: () => number;
}): AccessLog {
  const { choice, role, write, now, random } = options;
  const least = logLevels.indexOf(options.level);
  const [debug, info, warn] = [0, 1, 2].map((level) => level >= least);
  const second = { number: 0, lines: 0, left: 0 };

  const levelOf = (record: AccessRecord): 'debug' | 'info' | 'warn' | undefined => {
    if (choice === 'off') return undefined;
    if (upstreamTrouble.has(record.status)) return warn ? 'warn' : undefined;
    const isWanted =
      choice === 'all' ||
      record.status >= 400 ||
      record.attempts > 1 ||
      record.broke !== undefined ||
      (choice !== 'failed' && random() < choice);
    if (isWanted) return info ? 'info' : undefined;
    return debug ? 'debug' : undefined;
  };
  const hasRoom = (nowMs: number): boolean => {
    const number = Math.floor(nowMs / 1000);
    if (number !== second.number) {
      if (second.left > 0) {
        const head = `{"level":"warn","time":"${isoTime(nowMs)}","role":"${role}"`;
        write(`${head},"requests":${second.left},"msg":"Left requests out of the access log"}\n`);
      }
      Object.assign(second, { number, lines: 0, left: 0 });
    }
    second.lines += 1;
    if (second.lines <= mostLines) return true;
    second.left += 1;
    return false;
  };
  return (record) => {
    const level = levelOf(record);
    if (level === undefined) return;
    const nowMs = now();
    if (hasRoom(nowMs)) write(lineOf(record, level, role, nowMs));
  };
}

function lineOf(record: AccessRecord, level: string, role: string, nowMs: number): string {
  const { key, asked, model, node, firstContentMs, tokens, errorCode, errorMessage } = record;
  let line = `{"level":"${level}","time":"${isoTime(nowMs)}","role":"${role}"`;
  line += `,"requestId":"${record.requestId}","route":"${record.route}","status":${record.status}`;
  line += `,"durationMs":${Math.round(record.durationMs)}`;
  if (firstContentMs !== undefined) line += `,"firstContentMs":${Math.round(firstContentMs)}`;
  if (key !== undefined) line += `,"key":${quotedName(key)}`;
  if (asked !== undefined) line += `,"model":${quotedName(asked)}`;
  if (model !== undefined && model !== asked) line += `,"nodeModel":${quotedName(model)}`;
  if (node !== undefined) line += `,"node":${quotedName(node)},"attempts":${record.attempts}`;
  line += `,"bytesIn":${record.bytesIn},"bytesOut":${record.bytesOut}`;
  if (tokens !== undefined) {
    line += `,"inputTokens":${tokens.input},"outputTokens":${tokens.output}`;
    if (tokens.cached > 0) line += `,"cachedTokens":${tokens.cached}`;
    if (tokens.reasoning > 0) line += `,"reasoningTokens":${tokens.reasoning}`;
  }
  if (record.conversion !== undefined) line += `,"conversion":${quotedName(record.conversion)}`;
  if (record.dropped !== undefined && record.dropped.length > 0)
    line += `,"dropped":${quotedList(record.dropped)}`;
  if (record.failed !== undefined) line += `,"failed":${quotedList(record.failed)}`;
  if (record.broke !== undefined) line += `,"broke":"${record.broke}"`;
  if (record.status === 499) line += ',"callerGone":true';
  if (errorCode !== undefined) line += `,"error":"${errorCode}"`;
  if (errorMessage !== undefined) line += `,"reason":${quoted(withoutKeys(errorMessage))}`;
  if (record.traceId !== undefined) line += `,"traceId":"${record.traceId}"`;
  return `${line},"msg":"Answered a request"}\n`;
}

/** The timestamp of the last line, to the second: formatting it again takes a third of a line's time. */
const lastSecond = { number: Number.NaN, text: '' };

function isoTime(ms: number): string {
  const whole = Math.floor(ms);
  const number = Math.floor(whole / 1000);
  if (number !== lastSecond.number) {
    Object.assign(lastSecond, { number, text: new Date(number * 1000).toISOString().slice(0, -4) });
  }
  return `${lastSecond.text}${String(whole % 1000).padStart(3, '0')}Z`;
}

/** Cache of escaped names from manifests. */
const names = new Map<string, string>();
const mostNames = 10_000;

function quotedName(name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  if (names.size >= mostNames) names.clear();
  const made = quoted(name);
  names.set(name, made);
  return made;
}

function quotedList(texts: readonly string[]): string {
  let length = 0;
  const shown = texts.filter((text) => {
    length += text.length;
    return length <= longestText;
  });
  return `[${shown.map(quoted).join(',')}${shown.length < texts.length ? `,"… ${texts.length - shown.length} more"` : ''}]`;
}

function quoted(text: string): string {
  const bounded = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
  return withoutSteering(JSON.stringify(bounded));
}

/** Returns what writes access log lines in a format: JSON lines are batched, text is written at once. */
export function accessLogWriter(format: LogFormat, output: LineOutput): (line: string) => void {
  if (format === 'json') return output.writeLater;
  const lines = textLines(output);
  return (line) => lines.write(line);
}
