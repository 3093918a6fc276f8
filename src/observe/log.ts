import { type DestinationStream, type Logger, pino } from 'pino';
import { errorText } from './error-text.ts';

export type Log = Logger;
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ['json', 'text'] as const;
export type LogFormat = (typeof logFormats)[number];

/**
 * Fields that may hold a credential, wherever an object is logged whole. Not by pino's `redact`: its wildcard paths cost
 * more than the rest of a log line, which slowed down the first list of a thousand nodes.
 */
const secretFields: ReadonlySet<string> = new Set([
  'authorization',
  'x-api-key',
  'api-key',
  'apiKey',
  'credential',
  'credentials',
  'identities',
  'stringData',
  'token',
]);
const deepestRedaction = 4;
/** A key text of this gateway, also a mistyped one: people send keys in place of ids and model names, which errors quote. */
const keyText = /(mg[km]_)[0-9A-Za-z]{16,}/g;

/** C1 controls (U+009B begins a terminal command), marks that change the text direction, line and paragraph separators. */
const steering = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const unquotable = /[\s"=\x00-\x1f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

/**
 * The process's log: one line per record on `destination`, JSON for machines or text for people.
 * Messages are static texts with a capital first letter; what varies goes into fields. Errors are reduced to name,
 * code and message (the stack at debug level only), because an error's other properties may hold headers or bodies.
 */
export function createLog(options: {
  level: LogLevel;
  format: LogFormat;
  role: string;
  destination: DestinationStream;
}): Log {
  const { destination } = options;
  return pino(
    {
      level: options.level,
      base: { role: options.role },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redacted(fields, deepestRedaction),
      },
      serializers: { err: (error: unknown) => describeError(error, options.level === 'debug') },
      hooks: { streamWrite: withoutSteering },
    },
    options.format === 'text' ? textLines(destination) : destination,
  );
}

/** A copy of the fields or list without credentials; the object itself if it holds none, as nearly always. */
function redacted(fields: Record<string, unknown>, depth: number): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(fields)) {
    const inner =
      typeof value === 'string'
        ? withoutKeys(value)
        : isPlain(value) && depth > 0
          ? redacted(value, depth - 1)
          : value;
    const safe = secretFields.has(name) ? '[redacted]' : inner;
    if (safe === value) continue;
    copy ??= Array.isArray(fields) ? Object.assign([], fields) : { ...fields };
    copy[name] = safe;
  }
  return copy ?? fields;
}

/** The text with this gateway's key texts redacted. */
export function withoutKeys(text: string): string {
  return text.includes('mgk_') || text.includes('mgm_') ? text.replace(keyText, '$1[redacted]') : text;
}

/**
 * Escapes the characters of a line of JSON that could control a terminal or that some readers take for a line end: JSON itself
 * escapes only characters below U+0020. They occur only inside strings, where the escapes mean the same.
 */
export function withoutSteering(line: string): string {
  return line.replace(steering, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Error);
}

function describeError(error: unknown, withStack: boolean): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: withoutKeys(errorText(error)) };
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: withoutKeys(error.message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(withStack ? { stack: withoutKeys(error.stack ?? '') } : {}),
    ...(error.cause instanceof Error ? { cause: describeError(error.cause, withStack) } : {}),
  };
}

/** Rewrites pino's JSON lines as `12:34:56 warn  Message  field=value …`. */
export function textLines(destination: DestinationStream): DestinationStream {
  return {
    write(line: string): void {
      const { level, time, msg, role: _, ...fields } = JSON.parse(line) as Record<string, unknown>;
      const clock = textOf(time).slice(11, 19);
      const shown = Object.entries(fields).map(([name, value]) => `${name}=${showField(value)}`);
      destination.write(`${[clock, textOf(level).padEnd(5), textOf(msg), ...shown].join(' ')}\n`);
    },
  };
}

function showField(value: unknown): string {
  if (typeof value === 'string' && !unquotable.test(value)) return value;
  return withoutSteering(JSON.stringify(value));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
