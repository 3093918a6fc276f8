import type { z } from 'zod';
import { DeclarationError } from '../cli/edit/declarations.ts';
import { issueProblem } from '../resources/issues.ts';
import { safeParse } from '../resources/safe-parse.ts';

/** What the page sent, as the schema says. Throws DeclarationError, which names the fields in words that manifests get, too. */
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
