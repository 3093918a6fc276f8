import { UpstreamError } from './error.ts';

/** What a failed connect means. `connected`: TCP stood already, so that the fault is in the TLS handshake. */
export function connectError(cause: unknown, connected: boolean): UpstreamError {
  if (cause instanceof UpstreamError) return cause;
  const codes = errorCodes(cause);
  const detail = codes[0];
  if (connected) return new UpstreamError('tls', false, detail);
  if (syscall(cause) === 'getaddrinfo') return new UpstreamError('dns', false, detail);
  // Of several addresses one refused and another was silent: the refusal says more.
  if (codes.includes('ETIMEDOUT') && !codes.includes('ECONNREFUSED')) {
    return new UpstreamError('connect_timeout', false);
  }
  return new UpstreamError('connect_refused', false, detail);
}

function errorCodes(cause: unknown): string[] {
  const errors: unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return errors.flatMap((error) =>
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? [error.code] : [],
  );
}

function syscall(cause: unknown): unknown {
  return cause instanceof Error && 'syscall' in cause ? cause.syscall : undefined;
}
