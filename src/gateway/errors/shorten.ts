const longest = 256;

/** A text of the caller's as error messages repeat it: cut to a bearable length. */
export function shorten(text: string): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
