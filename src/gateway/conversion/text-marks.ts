import { randomBytes } from 'node:crypto';

// Random and secret, so that no text of a caller can contain a mark.
const nonce = randomBytes(12).toString('base64url');
const nonceBytes = Buffer.from(nonce);
const digits = 7;

/** The number of the first mark. A body would need 4 GB to have more long texts than there are numbers. */
const firstNumber = 10 ** (digits - 1);

/** Bytes, and characters, of a mark, which replaces a text in a JSON string. */
export const markLength = nonce.length + digits;

/** Writes the mark of text `index` to `target` at `at`. */
export function writeMark(target: Buffer, at: number, index: number): void {
  for (let place = 0; place < nonce.length; place++) target[at + place] = nonceBytes[place] ?? 0;
  let rest = firstNumber + index;
  for (let place = markLength - 1; place >= nonce.length; place--) {
    target[at + place] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

/** Where the next mark in `json` begins; -1 if there is none. */
export function nextMark(json: string, from: number): number {
  return json.indexOf(nonce, from);
}

/** The index of the text whose mark begins at `at`. */
export function indexAt(json: string, at: number): number {
  return Number(json.slice(at + nonce.length, at + markLength)) - firstNumber;
}
