import type { UpstreamConnection } from './connection.ts';
import { type UpstreamPath, upstreamURL } from './paths.ts';
import type { UpstreamRequest } from './request.ts';

/** The parts of a request that are the same for every request to a node. */
interface Prepared {
  /** The host and the node's own headers as they are written; undefined if one of them is not valid. */
  readonly headers: string | undefined;
  /** Lower-case names of headers that are never taken from the caller. */
  readonly reserved: ReadonlySet<string>;
  readonly paths: Map<UpstreamPath, string>;
}

const neverFromCaller = [
  'authorization',
  'x-api-key',
  'api-key',
  'cookie',
  'host',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'expect',
];

const cache = new WeakMap<UpstreamConnection, Prepared>();

function prepare(connection: UpstreamConnection): Prepared {
  const known = cache.get(connection);
  if (known !== undefined) return known;
  const own = connection.headers.map(({ name }) => name.toLowerCase());
  const headers = ['host', new URL(connection.baseURL).host, 'connection', 'keep-alive'];
  // Answers are passed on byte for byte, so they must not be compressed.
  headers.push('accept-encoding', 'identity', ...credentialHeader(connection));
  if (!own.includes('user-agent')) headers.push('user-agent', 'model-gateway');
  for (const { name, value } of connection.headers) headers.push(name, value);
  const prepared = {
    headers: written(headers),
    reserved: new Set([...neverFromCaller, ...own]),
    paths: new Map<UpstreamPath, string>(),
  };
  cache.set(connection, prepared);
  return prepared;
}

function credentialHeader({ authentication, credential }: UpstreamConnection): string[] {
  // A Secret made from a file often ends with a newline, which is not allowed in a header.
  const text = credential?.trim() ?? '';
  if (text === '') return [];
  if (authentication === 'XAPIKey') return ['x-api-key', text];
  if (authentication === 'APIKey') return ['api-key', text];
  return ['authorization', `Bearer ${text}`];
}

/**
 * The head of a request as it is written, up to its last empty line: the caller's headers without the reserved ones,
 * then the connection's. Undefined if a part of it is not valid in HTTP/1.1.
 */
export function requestHead(connection: UpstreamConnection, request: UpstreamRequest): string | undefined {
  const { headers: own, reserved, paths } = prepare(connection);
  const { method, path, query, headers, body } = request;
  let place = paths.get(path);
  if (place === undefined) {
    place = upstreamURL(connection.baseURL, path).path;
    paths.set(path, place);
  }
  const target = query === undefined ? place : `${place}?${query}`;
  const callers = written(headers, reserved);
  if (own === undefined || callers === undefined || !/^[\x21-\x7e]+$/.test(target)) return undefined;
  const length = body === undefined ? '' : `content-length: ${body.length}\r\n`;
  return `${method} ${target} HTTP/1.1\r\n${own}${callers}${length}\r\n`;
}

/** Flat headers as lines, without those in `reserved`; undefined if a name or value is not valid. */
function written(flat: readonly string[], reserved?: ReadonlySet<string>): string | undefined {
  let lines = '';
  for (let at = 0; at < flat.length; at += 2) {
    const [name = '', value = ''] = [flat[at], flat[at + 1]];
    if (reserved?.has(name.toLowerCase())) continue;
    if (!/^[\w!#$%&'*+\-.^`|~]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) return undefined;
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}
