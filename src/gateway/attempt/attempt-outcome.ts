import type { UpstreamError, UpstreamErrorCode } from '../../upstream/error.ts';

/** How an attempt can fail, for metrics and logs. */
export const failedOutcomes = [
  /** Other 4xx: the request was wrong. */
  'client_error',
  'rate_limited',
  'server_error',
  /** 401 or 403: the node refused the gateway's credential. */
  'credential_refused',
  'redirect',
  'connect_error',
  /** No connection, no first byte, or silence. */
  'timeout',
  /** Longer than the total timeout. */
  'too_long',
  'reset',
  /** The answer was not one of the format, or ended early. */
  'bad_answer',
  /** The gateway could not ask, had no memory for the answer, or failed itself. */
  'not_sent',
] as const;

/** How an attempt failed. A closed set. */
export type FailedOutcome = (typeof failedOutcomes)[number];

/** How an attempt on a node ended. A closed set. */
export type AttemptOutcome = FailedOutcome | 'ok' | 'cancelled';

/** The outcome of an attempt that the node answered with this error or redirect status. */
export function outcomeOfStatus(status: number): FailedOutcome {
  if (status < 400) return 'redirect';
  if (status === 429) return 'rate_limited';
  if (status >= 500) return 'server_error';
  return status === 401 || status === 403 ? 'credential_refused' : 'client_error';
}

/** The outcome of an attempt whose connection failed. */
export function outcomeOfError({ code }: UpstreamError): FailedOutcome {
  return byCode[code];
}

const byCode: Readonly<Record<UpstreamErrorCode, FailedOutcome>> = {
  local: 'not_sent',
  connect_refused: 'connect_error',
  connect_timeout: 'connect_error',
  dns: 'connect_error',
  tls: 'connect_error',
  forbidden_address: 'connect_error',
  first_byte_timeout: 'timeout',
  idle_timeout: 'timeout',
  total_timeout: 'too_long',
  reset: 'reset',
  protocol: 'bad_answer',
  too_large: 'bad_answer',
};
