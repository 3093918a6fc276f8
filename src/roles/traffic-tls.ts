import type { Registry } from 'prom-client';
import { ConfigError } from '../config.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { followTlsFiles } from '../gateway/server/follow-tls-files.ts';
import type { Log } from '../observe/log.ts';
import { createTlsMetrics } from '../observe/tls-metrics.ts';
import { TlsFileError } from '../tls/pem-file.ts';
import { readTlsPair, type TlsFiles, type TlsPair } from '../tls/tls-pair.ts';

/** The certificate of the traffic port. */
export interface TrafficTls {
  /** The pair that was read at the start. */
  readonly pair: TlsPair;
  /** Lets the gateway take each new pair until the signal aborts. */
  follow(gateway: Gateway, signal: AbortSignal): void;
}

/** Reads the pair that the flags name; undefined where they name none. Throws ConfigError. */
export async function openTrafficTls(
  files: TlsFiles | undefined,
  log: Log,
  registry: Registry,
): Promise<TrafficTls | undefined> {
  if (files === undefined) return undefined;
  const pair = await readTlsPair(files).catch((error: unknown) => {
    throw error instanceof TlsFileError
      ? new ConfigError(`--tls-cert and --tls-key: ${error.message}`)
      : error;
  });
  const metrics = createTlsMetrics(registry);
  const tell = ({ certificate }: TlsPair, message: string): void => {
    const expires = certificate.validToDate;
    metrics.inForce(expires.getTime());
    const facts = { certFile: files.cert, serial: certificate.serialNumber, expires: expires.toISOString() };
    if (expires.getTime() > Date.now()) log.info(facts, message);
    else log.warn(facts, `${message}, which has expired`);
  };
  tell(pair, 'Took the TLS certificate');
  return {
    pair,
    follow(gateway, signal) {
      void followTlsFiles({
        files,
        first: pair,
        log,
        signal,
        use(next) {
          gateway.setTlsPair(next);
          metrics.reloaded('success');
          tell(next, 'Took the new TLS certificate');
        },
        onBroken: () => metrics.reloaded('error'),
      });
    },
  };
}
