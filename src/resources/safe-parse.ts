import type { z } from 'zod';

/** Deeper than any of our fields. */
const deepest = 64;

/**
 * `schema.safeParse` for a value from outside; never throws. zod reads `length` or `size` even from a value of the wrong type
 * and compares it as a number, so it throws if that member is an object. The value is then parsed again without these
 * members, so that the issue names the field.
 */
export function safeParse<S extends z.ZodType>(schema: S, value: unknown): z.ZodSafeParseResult<z.output<S>> {
  try {
    return schema.safeParse(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return schema.safeParse(measurable(value, 0));
  }
}

function measurable(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > deepest) return value;
  if (Array.isArray(value)) return value.map((entry) => measurable(entry, depth + 1));
  const members = Object.entries(value).filter(
    ([name, member]) => (name !== 'length' && name !== 'size') || typeof member !== 'object',
  );
  return Object.fromEntries(members.map(([name, member]) => [name, measurable(member, depth + 1)]));
}
