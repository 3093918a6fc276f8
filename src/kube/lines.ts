import { ApiError } from './api-error.ts';

/**
 * Splits a stream of bytes into lines at `\n` only. `node:readline` also splits at U+2028 and U+2029, which JSON may hold
 * unescaped. Empty lines are dropped, and so is the rest after the last `\n`, which is half a line of a broken stream.
 *
 * @param maxLength limit of one line, in UTF-16 units
 * @throws ApiError `ResponseTooLarge` for a longer line, and whatever the stream throws
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  maxLength: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  // Pieces of the line so far: adding to one string would copy a long line once per chunk.
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const line = pieces.join('') + text.slice(start, end);
      pieces = [];
      length = 0;
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start < text.length) {
      pieces.push(text.slice(start));
      length += text.length - start;
    }
    if (length > maxLength) {
      throw new ApiError(
        0,
        'ResponseTooLarge',
        `the API server sent a line of more than ${maxLength} characters`,
      );
    }
  }
}
