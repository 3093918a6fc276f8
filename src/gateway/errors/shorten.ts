const longest = 256;

/** A caller's text, shortened for an error message. */
export function shorten(text: string): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
