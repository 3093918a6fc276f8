declare const unread: unique symbol;

/**
 * A text that goes to the node unchanged. At run time it is a string. In place of a long text of the caller, that string
 * holds a mark (gateway/conversion/long-texts.ts), because reading and writing long texts would take most of the time of a
 * conversion. So code may use it only by the functions here; `Fields.read` returns the text itself.
 */
export interface UnreadText {
  readonly [unread]: true;
}

/** Gives the caller's long texts of one body. */
export interface LongTextReader {
  /** A text with the caller's own in place of its marks. */
  read(text: string): string;
  /** Does the same within a JSON value, in place, and returns the value. */
  readWithin(value: unknown): unknown;
}

/** A text of the conversion's own, or one that was read. */
export function unreadText(text: string): UnreadText {
  return text as unknown as UnreadText;
}

export const noText: UnreadText = unreadText('');

/** Tells a text from a list of parts. */
export function isUnreadText(value: unknown): value is UnreadText {
  return typeof value === 'string';
}

export function joinTexts(texts: readonly UnreadText[], separator: string): UnreadText {
  const [first = noText] = texts;
  return texts.length < 2 ? first : unreadText(texts.map(unmarkedText).join(separator));
}

/** The text itself: only if the request was read without marks, as it is to count its tokens. */
export function unmarkedText(text: UnreadText): string {
  return text as unknown as string;
}

// These look at the beginning of a text: no mark replaces a text that begins with white space, a backslash or x.

/** Whether a text has only white space. */
export function isBlank(text: UnreadText): boolean {
  return unmarkedText(text).trim() === '';
}

/** Leaves out the first line that Claude Code writes: it differs in each request, which defeats prefix caches. */
export function withoutBillingHeader(text: UnreadText): UnreadText {
  const said = unmarkedText(text);
  return said.startsWith('x-anthropic-billing-header:') ? unreadText(said.replace(/^[^\n]*\n?/, '')) : text;
}
