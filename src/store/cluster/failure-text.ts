import { ApiError } from '../../kube/api-error.ts';
import { errorCode } from '../../observe/error-text.ts';

/** Describes a failed list or read in one clause. It quotes only the reason of what the API server or a plugin wrote. */
export function failureText(error: unknown): string {
  if (!(error instanceof ApiError)) return 'it failed unexpectedly; the log says how';
  const words = [error.reason, errorCode(error.cause) ?? ''].filter((word) =>
    /^[A-Za-z0-9_]{1,64}$/.test(word),
  );
  const why = words.length === 0 ? '' : ` (${words.join(', ')})`;
  if (error.status === 0) return `the API server gave no usable answer${why}`;
  const remedy = remedies[error.status];
  return `the API server answered ${error.status}${why}${remedy === undefined ? '' : `; ${remedy}`}`;
}

const remedies: Readonly<Record<number, string>> = {
  401: 'check the token or certificate of the service account',
  403: 'grant the service account "get", "list" and "watch" on it',
  404: 'apply the CRDs',
};
