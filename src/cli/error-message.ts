import { DeclarationError } from './edit/declarations.ts';

/** The message of an error; for a failed read or write with what is wrong, field by field. */
export function declarationMessage(error: Error): string {
  const causes = error instanceof DeclarationError ? error.causes : [];
  const lines = causes.filter((cause) => !error.message.includes(cause.message));
  return [error.message, ...lines.map((cause) => `  ${cause.field}: ${cause.message}`)].join('\n');
}
