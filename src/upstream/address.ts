import { isIPv4, isIPv6 } from 'node:net';

/** Which addresses may be contacted, apart from those that are always refused. */
export interface AddressRules {
  readonly allowLoopback: boolean;
}

/** Why an address is refused. */
export type ForbiddenReason = 'link-local' | 'metadata' | 'unspecified' | 'loopback' | 'malformed';

// Instance metadata services outside the link-local ranges: Alibaba, Azure's wire server; AWS and Google by IPv6.
const metadata4 = new Set(['100.100.100.200', '168.63.129.16']);
const metadata6 = new Set(['fd00:ec2:0:0:0:0:0:254', 'fd20:ce:0:0:0:0:0:254']);

/**
 * Why `address` (an IP literal, a zone id allowed) may not be contacted, or undefined when it may.
 * IPv6 forms that carry an IPv4 address (mapped, compatible, translated, NAT64, 6to4) are judged by both.
 * Anything that is not an IP address is `malformed`. Source: design, "Where a node may point".
 */
export function forbiddenReason(address: string, rules: AddressRules): ForbiddenReason | undefined {
  if (isIPv4(address)) return forbidden4(address.split('.').map(Number), rules);
  const words = parseIPv6(address);
  if (words === undefined) return 'malformed';
  const own = forbidden6(words, rules);
  if (own !== undefined) return own;
  for (const inner of embeddedIPv4(words)) {
    const reason = forbidden4(inner, rules);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function forbidden4(bytes: readonly number[], rules: AddressRules): ForbiddenReason | undefined {
  const [a, b] = bytes;
  if (a === 0) return 'unspecified';
  if (a === 169 && b === 254) return 'link-local';
  if (metadata4.has(bytes.join('.'))) return 'metadata';
  if (a === 127 && !rules.allowLoopback) return 'loopback';
  return undefined;
}

function forbidden6(words: readonly number[], rules: AddressRules): ForbiddenReason | undefined {
  const text = words.map((word) => word.toString(16)).join(':');
  if (text === '0:0:0:0:0:0:0:0') return 'unspecified';
  if (text === '0:0:0:0:0:0:0:1') return rules.allowLoopback ? undefined : 'loopback';
  if (((words[0] ?? 0) & 0xffc0) === 0xfe80) return 'link-local';
  return metadata6.has(text) ? 'metadata' : undefined;
}

/** The IPv4 addresses that an IPv6 address can represent. */
function embeddedIPv4(words: readonly number[]): number[][] {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = words;
  const bytes = words.flatMap((word) => [word >> 8, word & 0xff]);
  const pick = (...indexes: number[]) => indexes.map((index) => bytes[index] ?? 0);
  const last = pick(12, 13, 14, 15);
  if (a === 0x2002) return [pick(2, 3, 4, 5)];
  if (a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0) return [last];
  if (a === 0x64 && b === 0xff9b && c === 1) {
    // The network's operator chooses the prefix length (RFC 8215), so the address may lie at any of RFC 6052's positions.
    // Zeroes there are padding, not the unspecified address.
    const places = [pick(6, 7, 9, 10), pick(7, 9, 10, 11), pick(9, 10, 11, 12), last];
    return places.filter((place) => place[0] !== 0);
  }
  if (a !== 0 || b !== 0 || c !== 0 || d !== 0) return [];
  const mapped = e === 0 && f === 0xffff;
  const translated = e === 0xffff && f === 0;
  const compatible =
    e === 0 && f === 0 && !(last[0] === 0 && last[1] === 0 && last[2] === 0 && last[3] === 1);
  return mapped || translated || compatible ? [last] : [];
}

/** Eight 16-bit words, or undefined when the text is not an IPv6 address. */
function parseIPv6(address: string): number[] | undefined {
  if (!isIPv6(address)) return undefined;
  // The URL parser normalises every spelling: lower case, no dotted tail, zeroes compressed.
  const canonical = new URL(`http://[${address.replace(/%.*$/s, '')}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const filling = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...filling, ...right].map((word) => Number.parseInt(word, 16));
}
