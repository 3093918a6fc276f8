import type { z } from 'zod';
import { DeclarationError } from '../cli/edit/declarations.ts';
import { issueProblem } from '../resources/issues.ts';
import { safeParse } from '../resources/safe-parse.ts';

/** Parses what the page sent. Throws DeclarationError, which describes the fields as for manifests. */
export function read<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = safeParse(schema, value);
  if (parsed.success) return parsed.data;
  const causes = parsed.error.issues.map((issue) => {
    const { path, reason, remedy } = issueProblem(issue, value);
    return { field: path, message: `${reason}; ${remedy}` };
  });
  throw new DeclarationError(
    'Invalid',
    causes.map(({ field, message }) => `${field} ${message}`.trim()).join('; '),
    causes,
  );
}
