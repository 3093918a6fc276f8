import type { z } from 'zod';
import { DeclarationError } from '../cli/edit/declarations.ts';

/** What the page sent, as the schema says. Throws DeclarationError, which names the fields. */
export function read<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const causes = parsed.error.issues.map(({ path, message }) => ({ field: path.join('.'), message }));
  throw new DeclarationError(
    'Invalid',
    causes.map(({ field, message }) => `${field}: ${message}`).join('; '),
    causes,
  );
}
