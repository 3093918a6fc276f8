import type { UpstreamConnection } from './connection.ts';
import { UpstreamHeaders } from './headers.ts';

/** No credential is shorter; a placeholder such as `none` would take words out of every text. */
const shortestSecret = 8;
const masks = new WeakMap<UpstreamConnection, Mask | undefined>();

interface Mask {
  readonly pattern: RegExp;
  /** Length of the shortest secret: no shorter text holds one, however it is escaped. */
  readonly shortest: number;
}

/**
 * What a node wrote, without the values that this connection sends of its own (credential and headers), because some
 * servers repeat the headers of a request in their errors. The same bytes where there is none of them.
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

/** The same for the head of an answer. A field whose name holds a value of the connection is left out. */
export function maskHeaders(headers: UpstreamHeaders, connection: UpstreamConnection): UpstreamHeaders {
  const mask = maskOf(connection);
  if (mask === undefined) return headers;
  // Nearly every field is too short, so that this costs next to nothing.
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
  // The longest first: one may be the beginning of another.
  const sources = secrets.sort((one, other) => other.length - one.length).map(sourceOf);
  const shortest = Math.min(...secrets.map(({ length }) => length));
  const mask = sources.length === 0 ? undefined : { pattern: new RegExp(sources.join('|'), 'g'), shortest };
  masks.set(connection, mask);
  return mask;
}

/** Matches the UTF-8 bytes of a text, read as latin1, however JSON, also within a text of JSON, or a URL may have escaped them. */
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
