/** Reasons, each with the texts that it is for; `*` is any text. */
export type Reasons = readonly (readonly [reason: string, ...texts: readonly string[]])[];

/** The reason for a text. */
export function reasonIn(reasons: Reasons, text: string): string | undefined {
  return reasons.find(([, ...patterns]) => patterns.some((pattern) => patternOf(pattern).test(text)))?.[0];
}

/** The patterns that none of the texts needs any more. */
export function unneededIn(reasons: Reasons, texts: readonly string[]): readonly string[] {
  const patterns = reasons.flatMap(([, ...each]) => each);
  return patterns.filter((pattern) => !texts.some((text) => patternOf(pattern).test(text)));
}

function patternOf(text: string): RegExp {
  const known = patterns.get(text);
  if (known !== undefined) return known;
  const literals = text.split('*').map((part) => part.replaceAll(/[.[\]()]/g, String.raw`\$&`));
  const pattern = new RegExp(`^${literals.join('.*')}$`);
  patterns.set(text, pattern);
  return pattern;
}

const patterns = new Map<string, RegExp>();
