import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { ServerOptions } from 'node:https';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { codeOf, parsePem, readPem, TlsFileError } from './pem-file.ts';

/** Paths of the two PEM files that a TLS server needs, as a Secret of the type `kubernetes.io/tls` holds them. */
export interface TlsFiles {
  /** The certificate, followed by its intermediates. */
  readonly cert: string;
  readonly key: string;
}

/** A certificate with its private key, known to belong together. */
export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** The server's own certificate: the first of the file. */
  readonly certificate: X509Certificate;
}

/** Reads a certificate and its key. Throws TlsFileError. */
export async function readTlsPair(files: TlsFiles): Promise<TlsPair> {
  const [cert, key] = await Promise.all([readPem(files.cert), readPem(files.key)]);
  const certificate = parsePem(files.cert, 'a certificate', () => new X509Certificate(cert));
  const privateKey = parsePem(files.key, 'a private key without passphrase', () => createPrivateKey(key));
  if (!belongs(certificate, privateKey)) {
    throw new TlsFileError(
      `The key in ${files.key} is not the one of the certificate in ${files.cert} (${subjectOf(certificate)}): give both files of the same pair, the server's own certificate first.`,
    );
  }
  try {
    createSecureContext(secureOptions({ cert, key }));
  } catch (error) {
    throw new TlsFileError(
      `${files.cert} and ${files.key} cannot be used for TLS (${codeOf(error)}): make a new pair, with an ECDSA key or an RSA key of at least 2048 bits.`,
    );
  }
  return { cert, key, certificate };
}

/** The options of https.createServer for a pair: TLS 1.2 or later, HTTP/1.1 only. */
export function tlsServerOptions(pair: TlsPair, handshakeMs: number): ServerOptions {
  return { ...secureOptions(pair), ALPNProtocols: ['http/1.1'], handshakeTimeout: handshakeMs };
}

/** The context with which a running server uses a new pair for new connections; its other settings do not change. */
export function secureOptions({ cert, key }: Pick<TlsPair, 'cert' | 'key'>): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2' };
}

function belongs(certificate: X509Certificate, key: KeyObject): boolean {
  try {
    return certificate.checkPrivateKey(key);
  } catch {
    return false;
  }
}

/** The certificate's subject on one line. A certificate without a subject has its names in subjectAltName. */
function subjectOf(certificate: X509Certificate): string {
  return (certificate.subject ?? certificate.subjectAltName ?? 'without a name').replaceAll('\n', ', ');
}
