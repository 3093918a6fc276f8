import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Where a certificate or key of `tls/` is. */
export const tlsFile = (name: string): string => fileURLToPath(new URL(`tls/${name}`, import.meta.url));

/** What it holds, as PEM. */
export const tlsText = (name: string): string => readFileSync(tlsFile(name), 'utf8');
