import type { UpstreamConnection } from './connection.ts';
import { UpstreamHeaders } from './headers.ts';

/** Shorter values are not masked: they are placeholders such as `none`, and masking them would damage ordinary words. */
const shortestSecret = 8;
const masks = new WeakMap<UpstreamConnection, Mask | undefined>();

interface Mask {
  readonly pattern: RegExp;
  /** Length of the shortest secret: a shorter text cannot hold one, even escaped. */
  readonly shortest: number;
}

/**
 * Masks the values that this connection adds to requests (credential and headers) in bytes that a node wrote, because some
 * servers quote the request's headers in their errors. Returns the same object if there are none.
 */
export function maskCredentials(bytes: Buffer, connection: UpstreamConnection): Buffer {
  const mask = maskOf(connection);
  if (mask === undefined) return bytes;
  const text = bytes.toString('latin1');
  const masked = text.replace(mask.pattern, '[redacted]');
  return masked === text ? bytes : Buffer.from(masked, 'latin1');
}

/** The same for a text. */
export function maskText(text: string, connection: UpstreamConnection): string {
  const bytes = Buffer.from(text);
  const masked = maskCredentials(bytes, connection);
  return masked === bytes ? text : masked.toString();
}

/** The same for the head of an answer. A field whose name holds a secret value is left out. */
export function maskHeaders(headers: UpstreamHeaders, connection: UpstreamConnection): UpstreamHeaders {
  const mask = maskOf(connection);
  if (mask === undefined) return headers;
  // Nearly every field is shorter than any secret, so this costs almost nothing.
  const holds = (text: string) => text.length >= mask.shortest && text.search(mask.pattern) !== -1;
  let isClean = true;
  headers.forEach((name, value) => {
    if (holds(name) || holds(value)) isClean = false;
  });
  if (isClean) return headers;
  const flat: string[] = [];
  headers.forEach((name, value) => {
    if (!holds(name)) flat.push(name, value.replace(mask.pattern, '[redacted]'));
  });
  return new UpstreamHeaders(flat);
}

function maskOf(connection: UpstreamConnection): Mask | undefined {
  if (masks.has(connection)) return masks.get(connection);
  const values = [connection.credential ?? '', ...connection.headers.map(({ value }) => value)];
  const secrets = values.map((value) => value.trim()).filter(({ length }) => length >= shortestSecret);
  // The longest first, because one value may be the beginning of another.
  const sources = secrets.sort((one, other) => other.length - one.length).map(sourceOf);
  const shortest = Math.min(...secrets.map(({ length }) => length));
  const mask = sources.length === 0 ? undefined : { pattern: new RegExp(sources.join('|'), 'g'), shortest };
  masks.set(connection, mask);
  return mask;
}

/** Matches the UTF-8 bytes of a text, read as latin1, with any escapes of JSON, of JSON within a JSON string, or of a URL. */
function sourceOf(secret: string): string {
  return [...secret].map(characterSource).join('');
}

function characterSource(character: string): string {
  const bytes = [...Buffer.from(character)].map((byte) => {
    const hex = byte.toString(16).padStart(2, '0');
    return `(?:\\\\{0,3}\\x${hex}|%${anyCase(hex)})`;
  });
  const units = Array.from({ length: character.length }, (_, at) => {
    const hex = character.charCodeAt(at).toString(16).padStart(4, '0');
    return `\\\\{1,3}u${anyCase(hex)}`;
  });
  return `(?:${bytes.join('')}|${units.join('')})`;
}

function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
