import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** What a key opens: `api` the model APIs, `master` the keys API. */
export type KeyTextKind = 'api' | 'master';

const prefixes = { api: 'mgk_', master: 'mgm_' } as const;
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const prefixLength = 4;
const secretLength = 43; // 62^43 is the first power of 62 above 2^256
const checkLength = 6; // 62^6 is above 2^32
const ourLength = prefixLength + secretLength + checkLength;
const shortest = 24;
const longest = 512;
const visible = /^[!-~]+$/;
const ours = /^mg[km]_[0-9A-Za-z]{49}$/;

/**
 * Writes a new key: prefix, 43 base62 characters of 256 random bits, 6 base62 characters of the CRC-32 of all before.
 * @param randomBytes returns the requested number of random bytes; `crypto.randomBytes` outside tests
 * @throws RangeError if it returns another number of bytes
 */
export function generateKeyText(kind: KeyTextKind, randomBytes: (size: number) => Uint8Array): string {
  const bytes = randomBytes(32);
  if (bytes.length !== 32) throw new RangeError(`A key needs 32 random bytes, not ${bytes.length}`);
  const number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const body = prefixes[kind] + base62(number, secretLength);
  return body + checkDigits(body);
}

/** The hash under which a key is stored and looked up: `sha256:` and 64 lower-case hexadecimal digits. */
export function hashKeyText(text: string): string {
  return `sha256:${hash('sha256', text, 'hex')}`;
}

/**
 * A hint by which people recognise a key, and which is useless as a key: our prefix, if it has one, and the last four
 * characters, as in `mgk_...x7Qa`. ASCII, because it is shown in headers, terminals and `status`.
 */
export function keyHint(text: string): string {
  return `${ours.test(text) ? text.slice(0, prefixLength) : ''}...${text.slice(-4)}`;
}

/**
 * Classifies a key by its text alone, without the store.
 * - `ours`: it has our format and its check characters are correct
 * - `mistyped`: it has our prefix but is not valid: a character is wrong, missing or superfluous
 * - `foreign`: it may be a key issued elsewhere: 24 to 512 visible ASCII characters
 * - `impossible`: it cannot be a key
 */
export function checkKeyText(text: string): 'ours' | 'mistyped' | 'foreign' | 'impossible' {
  if (isChecked(text)) return 'ours';
  if (text.length > longest || !visible.test(text)) return 'impossible';
  if (text.startsWith(prefixes.api) || text.startsWith(prefixes.master)) return 'mistyped';
  return text.length < shortest ? 'impossible' : 'foreign';
}

/** The kind of key, by our prefix; undefined for other texts. */
export function keyTextKind(text: string): KeyTextKind | undefined {
  if (text.startsWith(prefixes.api)) return 'api';
  return text.startsWith(prefixes.master) ? 'master' : undefined;
}

/** Whether a key may be that long: 24 to 512 characters. Longer texts are not worth hashing. */
export function hasKeyLength(text: string): boolean {
  return text.length >= shortest && text.length <= longest;
}

/** Whether the text is a key that we generated, by format and check characters. */
function isChecked(text: string): boolean {
  return ours.test(text) && text.endsWith(checkDigits(text.slice(0, ourLength - checkLength)));
}

function checkDigits(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let place = 0; place < checkLength; place += 1) {
    text = digits.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

function base62(number: bigint, length: number): string {
  let rest = number;
  let text = '';
  for (let place = 0; place < length; place += 1) {
    text = digits.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}
