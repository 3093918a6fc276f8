import { UpstreamError } from './error.ts';

/** Errors caused by a shortage of this process or its machine, not by the model server. */
const shortages: ReadonlySet<string> = new Set([
  'EMFILE',
  'ENFILE',
  'EADDRNOTAVAIL',
  'ENOBUFS',
  'ENOMEM',
  'EAI_MEMORY',
]);

/** The UpstreamError of a failed connect. `connected`: TCP was established, so the TLS handshake failed. */
export function connectError(cause: unknown, connected: boolean): UpstreamError {
  if (cause instanceof UpstreamError) return cause;
  const codes = errorCodes(cause);
  const detail = codes[0];
  // Only if all addresses failed so: if IPv6 is off, its addresses fail with EADDRNOTAVAIL although an IPv4 address refused.
  if (codes.length > 0 && codes.every((code) => shortages.has(code))) {
    return new UpstreamError('local', false, detail);
  }
  if (connected) return new UpstreamError('tls', false, detail);
  if (syscall(cause) === 'getaddrinfo') return new UpstreamError('dns', false, detail);
  // If one address refused and another timed out, the refusal is more specific.
  if (codes.includes('ETIMEDOUT') && !codes.includes('ECONNREFUSED')) {
    return new UpstreamError('connect_timeout', false);
  }
  return new UpstreamError('connect_refused', false, detail);
}

/** The code of a socket's error, from a fixed vocabulary; undefined if there is none. */
export function errorCode(cause: unknown): string | undefined {
  return errorCodes(cause)[0];
}

function errorCodes(cause: unknown): string[] {
  const errors: unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return errors.flatMap((error) =>
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    /^[A-Z][A-Z\d_]*$/.test(error.code)
      ? [error.code]
      : [],
  );
}

function syscall(cause: unknown): unknown {
  return cause instanceof Error && 'syscall' in cause ? cause.syscall : undefined;
}
