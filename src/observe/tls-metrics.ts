import { Counter, Gauge, type Registry } from 'prom-client';

/** Metrics of the certificate on the traffic port. */
export interface TlsMetrics {
  /** A certificate is in force; when it expires, in milliseconds since 1970. */
  readonly inForce: (expiresMs: number) => void;
  readonly reloaded: (result: 'success' | 'error') => void;
}

/** Registered only if TLS is on: a gauge of 0 would look like a certificate that expired long ago. */
export function createTlsMetrics(registry: Registry): TlsMetrics {
  const expiration = new Gauge({
    name: 'modelgateway_tls_certificate_expiration_timestamp_seconds',
    help: 'When the certificate in force on the traffic port expires, in seconds since 1970.',
    registers: [registry],
  });
  const reloads = new Counter({
    name: 'modelgateway_tls_certificate_reloads_total',
    help: 'New certificate files that were put in force (success) or refused (error: the last good one stays).',
    labelNames: ['result'],
    registers: [registry],
  });
  reloads.inc({ result: 'success' }, 0);
  reloads.inc({ result: 'error' }, 0);
  return {
    inForce: (expiresMs) => expiration.set(Math.floor(expiresMs / 1000)),
    reloaded: (result) => reloads.inc({ result }),
  };
}
