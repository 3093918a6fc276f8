import { Agent, type Dispatcher } from 'undici';
import { readAuthority } from '../tls/pem-file.ts';

/** What is required of a gateway's certificate. */
export interface GatewayTrust {
  /**
   * A PEM file with the authority, or with the gateway's own certificate, which replaces the system's authorities as
   * `curl --cacert` does. Undefined: those of the system.
   */
  readonly caFile: string | undefined;
  /** False for a tunnel: it leads to one pod, by none of the names in its certificate. */
  readonly byName: boolean;
}

/**
 * Connections to a gateway. The file is read each time, so that a renewed certificate is used. The function throws
 * TlsFileError.
 */
export function gatewayConnections({ caFile, byName }: GatewayTrust): () => Promise<Dispatcher> {
  let made: { readonly ca: string | undefined; readonly agent: Agent } | undefined;
  return async () => {
    const ca = caFile === undefined ? undefined : await readAuthority(caFile);
    if (made === undefined || made.ca !== ca) {
      const trusted = ca === undefined ? {} : { ca, allowPartialTrustChain: true };
      const named = byName ? {} : { checkServerIdentity: () => undefined };
      // Requests on the previous one continue.
      void made?.agent.close();
      made = { ca, agent: new Agent({ connect: { ...trusted, ...named } }) };
    }
    return made.agent;
  };
}

/** What is wrong with a gateway's certificate, and the remedy; undefined when something else went wrong. */
export function certificateProblem(error: unknown): string | undefined {
  const { code = '' } = error as { readonly code?: string };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return 'its certificate is not for this name. Start the console with --gateway-url and a name that is in it.';
  }
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired. Renew it.';
  return untrusted.has(code)
    ? `its certificate is of an authority that is not trusted here (${code}). Start the console with --gateway-ca FILE, the certificate of that authority.`
    : undefined;
}

const untrusted: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
