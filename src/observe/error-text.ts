import { inspect } from 'node:util';

/** The message of any thrown value. Never throws. */
export function errorText(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === 'string'
    ? error
    : inspect(error, { depth: 1, breakLength: Number.POSITIVE_INFINITY });
}

/** The `code` of a system error (`ENOENT`); undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
