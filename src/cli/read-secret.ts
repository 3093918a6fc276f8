import type { ReadStream } from 'node:tty';

const longest = 16_384;
/** Enough for a thousand names of models of the greatest length. */
const longestList = 1_000_000;

/** The person pressed Ctrl-C or Ctrl-D instead of typing a secret. */
export class GivenUp extends Error {
  override readonly name = 'GivenUp';
}

/**
 * Reads one line that is secret: by a prompt without echo if `input` is a terminal, else all of the input, without the
 * line end. Throws an Error if it is empty (unless that is allowed) or too long, and GivenUp if Ctrl-C was pressed.
 */
export async function readSecret(
  prompt: string,
  input: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>>,
  output: { write(text: string): unknown },
  { mayBeEmpty = false }: { readonly mayBeEmpty?: boolean } = {},
): Promise<string> {
  const terminal = input.isTTY === true && input.setRawMode !== undefined;
  if (terminal) {
    output.write(prompt);
    input.setRawMode?.(true);
  }
  try {
    const text = terminal ? await readTyped(input) : await readAll(input, longest);
    if (text === '' && !mayBeEmpty)
      throw new Error('The key is empty; type it, or pipe it in: printf %s "$KEY" | model-gateway seal …');
    return text;
  } finally {
    if (terminal) {
      input.setRawMode?.(false);
      input.pause();
      output.write('\n');
    }
  }
}

/** All of stdin, up to `most` characters, without the last line end. Throws an Error if it is longer. */
export async function readAll(input: NodeJS.ReadableStream, most = longestList): Promise<string> {
  // A piece may end in the middle of a character.
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of input) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    if (text.length > most) throw new Error(`What is piped in is longer than ${most} characters.`);
  }
  return text.replace(/\r?\n$/, '');
}

/** In raw mode keys arrive one by one: Enter ends, Backspace deletes, Ctrl-C and Ctrl-D give up. */
function readTyped(input: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const onData = (chunk: Buffer | string): void => {
      for (const key of chunk.toString()) {
        if ('\r\n\u0003\u0004'.includes(key)) {
          input.off('data', onData);
          if (key === '\r' || key === '\n') resolve(text);
          else reject(new GivenUp('Given up.'));
          return;
        }
        text = key === '\u007f' || key === '\b' ? text.slice(0, -1) : (text + key).slice(0, longest);
      }
    };
    input.on('data', onData);
    input.resume();
  });
}
