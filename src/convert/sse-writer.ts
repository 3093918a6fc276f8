interface Named {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A named event, as Anthropic and Responses clients read it: they ignore events without an `event:` line. One write each. */
export function namedEvent(payload: Named): string {
  return named(payload.type, oneLine(payload));
}

/** A named event with its number, put into the text: a copy of the payload for it would cost more than all the rest. */
export function numberedEvent(payload: Named, number: number): string {
  return named(payload.type, `${oneLine(payload).slice(0, -1)},"sequence_number":${number}}`);
}

function named(type: string, json: string): string {
  return `event: ${type}\ndata: ${json}\n\n`;
}

/** An event without a name, as chat-completions and completions clients read it. */
export function dataEvent(payload: unknown): string {
  return `data: ${oneLine(payload)}\n\n`;
}

/** The end of a stream of the OpenAI family. */
export const doneEvent = 'data: [DONE]\n\n';

/** A comment, which clients pass over; keeps connections alive. */
export function commentEvent(text: string): string {
  return `: ${text}\n\n`;
}

const separators = /[\u0085\u2028\u2029]/g;

/** JSON on one line also for readers that end lines at any Unicode separator, as Python's `splitlines` does. */
function oneLine(payload: unknown): string {
  const json = JSON.stringify(payload);
  return json.search(separators) < 0 ? json : json.replace(separators, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
