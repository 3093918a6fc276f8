/** Why an attempt got no complete answer. */
export type UpstreamErrorCode =
  /** This process or its machine is short of descriptors, ports or memory: it says nothing of the model server. */
  | 'local'
  | 'connect_refused'
  | 'connect_timeout'
  | 'dns'
  | 'tls'
  | 'forbidden_address'
  | 'first_byte_timeout'
  | 'idle_timeout'
  | 'total_timeout'
  | 'reset'
  | 'protocol'
  | 'too_large';

const messages: Record<UpstreamErrorCode, string> = {
  local: 'the gateway is short of sockets, ports or memory',
  connect_refused: 'the connection was refused',
  connect_timeout: 'no connection within the connect timeout',
  dns: 'the host name could not be resolved',
  tls: 'the TLS connection failed',
  forbidden_address: 'the host has no address that may be contacted',
  first_byte_timeout: 'no answer within the first-byte timeout',
  idle_timeout: 'the answer stopped for longer than the idle timeout',
  total_timeout: 'the answer was not complete within the total timeout',
  reset: 'the connection was closed before the answer was complete',
  protocol: 'the exchange does not follow HTTP/1.1',
  too_large: 'the response head is too large',
};

/**
 * An attempt that got no complete answer. The message is safe to show: it holds no address, no credential and
 * no text from the model server. Callers branch on `code`.
 */
export class UpstreamError extends Error {
  readonly code: UpstreamErrorCode;
  /** Whether the response head had arrived. */
  readonly answered: boolean;
  /** An OpenSSL or errno code, or another word from a fixed vocabulary. */
  readonly detail: string | undefined;

  /**
   * `detail` comes from a fixed vocabulary (an OpenSSL or errno code), never from the upstream. The first error
   * is not kept as `cause`: Node's hold the address, and loggers print causes.
   */
  constructor(code: UpstreamErrorCode, answered: boolean, detail?: string) {
    super(detail === undefined ? messages[code] : `${messages[code]} (${detail})`);
    this.name = 'UpstreamError';
    this.code = code;
    this.answered = answered;
    this.detail = detail;
  }
}
