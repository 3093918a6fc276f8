/** Random bytes are taken for this many ids at a time: taking them for each id costs ten times as much. */
const batch = 256;
const bytesOfId = 16;

/**
 * Makes request ids: `req_` and 128 random bits, in hexadecimal. They do not count up: two ids of a caller would say how
 * many requests all other callers made in between. `randomFill` fills what it gets with random bytes.
 */
export function requestIds(randomFill: (bytes: Buffer) => void): () => string {
  const bytes = Buffer.alloc(batch * bytesOfId);
  let digits = '';
  let used = 0;
  return () => {
    if (used === digits.length) {
      randomFill(bytes);
      digits = bytes.toString('hex');
      used = 0;
    }
    const begin = used;
    used += 2 * bytesOfId;
    return `req_${digits.slice(begin, used)}`;
  };
}
