import { readFileSync } from 'node:fs';

// Made once with `openssl ca` (P-256, valid 2020 to 2120; the expired one to 2021); the keys of the authorities
// were thrown away. `server` holds DNS:models.example and IP:127.0.0.1, `name-only` the name alone.
function read(name: string): string {
  return readFileSync(new URL(`./tls/upstream-${name}.pem`, import.meta.url), 'utf8');
}

/** The authority that signed every certificate of `upstreamCertificate`, and one that signed none. */
export const upstreamAuthority = { own: read('ca'), other: read('other-ca') };

/** Key and certificate for a TLS server, PEM. */
export function upstreamCertificate(name: 'server' | 'name-only' | 'expired'): { key: string; cert: string } {
  return { key: read(`${name}-key`), cert: read(name) };
}
