import { inspect } from 'node:util';

/** What a thrown value says: never throws itself, whatever was thrown. */
export function errorText(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === 'string'
    ? error
    : inspect(error, { depth: 1, breakLength: Number.POSITIVE_INFINITY });
}

/** The `code` of an error of the system (`ENOENT`); undefined where it has none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
