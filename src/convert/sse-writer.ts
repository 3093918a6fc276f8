interface Named {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A named event, as Anthropic and Responses clients read it: they ignore events without an `event:` line. One write each. */
export function namedEvent(payload: Named): string {
  return `${named(payload.type, oneLine(payload))}\n\n`;
}

/** A named event up to the last brace of its JSON: `numbered` ends it. */
export function openEvent(payload: Named): string {
  return named(payload.type, oneLine(payload).slice(0, -1));
}

/** `openEvent` of a payload whose one member is JSON text already. */
export function openAround(type: string, member: string, json: string): string {
  return named(type, `{"type":"${type}","${member}":${escapeSeparators(json)}`);
}

/** A named event whose members behind the type are JSON text already. */
export function namedMembers(type: string, members: string): string {
  return `${named(type, `{"type":"${type}",${escapeSeparators(members)}}`)}\n\n`;
}

/** What the events of one growing text have in common, for `openDelta`: writing it for each token would cost twice as much. */
export function deltaFrame(payload: Named): string {
  return `${openEvent(payload)},"delta":`;
}

/** `openEvent` of a frame's payload with a `delta`. */
export function openDelta(frame: string, delta: string): string {
  return frame + oneLine(delta);
}

/** Ends an event that `openEvent` or `openDelta` began, with its number. */
export function numbered(open: string, number: number): string {
  return `${open},"sequence_number":${number}}\n\n`;
}

function named(type: string, json: string): string {
  return `event: ${type}\ndata: ${json}`;
}

/** An event without a name, as chat-completions and completions clients read it. */
export function dataEvent(payload: unknown): string {
  return `data: ${oneLine(payload)}\n\n`;
}

/** The end of a stream of the OpenAI family. */
export const doneEvent = 'data: [DONE]\n\n';

/** A comment, which clients ignore; keeps connections alive. */
export function commentEvent(text: string): string {
  return `: ${text}\n\n`;
}

const separators = /[\u0085\u2028\u2029]/g;

/** JSON on one line also for readers that end lines at any Unicode separator, as Python's `splitlines` does. */
function oneLine(payload: unknown): string {
  return escapeSeparators(JSON.stringify(payload));
}

function escapeSeparators(json: string): string {
  return json.search(separators) < 0 ? json : json.replace(separators, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
