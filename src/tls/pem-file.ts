import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** A file is not usable for TLS. The message names the file, the reason and the remedy, and quotes nothing of the content. */
export class TlsFileError extends Error {
  override readonly name = 'TlsFileError';
}

/** Reads a PEM file. Throws TlsFileError. */
export async function readPem(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new TlsFileError(
      `${path} cannot be read (${codeOf(error)}): give a file that exists and that this user may read.`,
    );
  }
}

/** Runs `parse`. If it throws, throws a TlsFileError that names the file and what was expected in it. */
export function parsePem<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new TlsFileError(`${path} does not hold ${what} in PEM (${codeOf(error)}): give such a file.`);
  }
}

/** Reads trusted CA certificates and checks that the first is a certificate. Throws TlsFileError. */
export async function readAuthority(path: string): Promise<string> {
  const pem = await readPem(path);
  parsePem(path, 'a certificate', () => new X509Certificate(pem));
  return pem.toString('utf8');
}

/** The code alone: some messages of OpenSSL quote what they read. */
export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'unreadable';
}
