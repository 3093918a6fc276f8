/** A named event, as Anthropic and Responses clients read it: they ignore events without an `event:` line. One write each. */
export function namedEvent(payload: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`;
}

/** An event without a name, as chat-completions and completions clients read it. */
export function dataEvent(payload: unknown): string {
  return `data: ${JSON.stringify(payload)}\n\n`;
}

/** The end of a stream of the OpenAI family. */
export const doneEvent = 'data: [DONE]\n\n';

/** A comment, which clients pass over; keeps connections alive. */
export function commentEvent(text: string): string {
  return `: ${text}\n\n`;
}
