import { connect } from 'node:net';
import type { BenchFormat } from '../bench-requests.ts';
import type { Expected } from '../load-connection.ts';

type Json = Readonly<Record<string, unknown>>;

const patienceMilliseconds = 60_000;
const plainText = 'word '.repeat(100);

/**
 * What each answer of a proxy to this request must look like, learnt from one that is read in full: its status, and that it
 * says what the upstream says. Throws for a wrong answer.
 */
export async function knownPlain(port: number, request: Buffer, format: BenchFormat): Promise<Expected> {
  const body = (await ask(port, request)).toString();
  const answer = JSON.parse(body) as Json;
  const [first] = (format === 'messages' ? answer['content'] : answer['choices']) as Json[];
  const text =
    format === 'messages' ? first?.['text'] : (first?.['message'] as Json | undefined)?.['content'];
  if (text !== plainText) throw new Error(`wrong answer: ${body.slice(0, 300)}`);
  return { bodyBytes: Buffer.byteLength(body) };
}

/** The same for a stream of chat chunks, which must add up to `whole`; `onLine` is called at each line of data. */
export async function knownStream(
  port: number,
  request: Buffer,
  whole: string,
  onLine: () => void,
): Promise<Expected> {
  let lines = 0;
  const body = (
    await ask(port, request, (text) => {
      for (; lines < text.split('\ndata:').length; lines++) onLine();
    })
  ).toString();
  const events = body.split('\n').filter((line) => line.startsWith('data: '));
  const texts = events.flatMap((event) => {
    if (event === 'data: [DONE]') return [];
    const { choices } = JSON.parse(event.slice(6)) as { choices?: { delta?: { content?: string | null } }[] };
    return choices?.[0]?.delta?.content ?? [];
  });
  if (texts.join('') !== whole || events.at(-1) !== 'data: [DONE]') {
    throw new Error(`wrong stream: ${texts.length} chunks, then ${events.at(-1)?.slice(0, 300)}`);
  }
  return { dataLines: events.length };
}

/** Sends these very bytes and answers the body of a 200. */
function ask(port: number, request: Buffer, onText: (body: string) => void = () => {}): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.setTimeout(patienceMilliseconds, () => end(new Error('no answer in a minute')));
    let received = Buffer.alloc(0);
    const end = (result: Buffer | Error) => {
      socket.destroy();
      if (result instanceof Error) reject(result);
      else resolve(result);
    };
    socket.on('error', end);
    socket.on('end', () =>
      end(new Error(`closed before the end of the answer: ${received.subarray(0, 300)}`)),
    );
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      const head = received.indexOf('\r\n\r\n');
      if (head === -1) return;
      const headText = received.toString('latin1', 0, head);
      const body = received.subarray(head + 4);
      if (!headText.startsWith('HTTP/1.1 200')) {
        end(new Error(`wrong status: ${headText.split('\r\n', 1)[0]} ${body.subarray(0, 300)}`));
        return;
      }
      const length = /\r\ncontent-length: *(\d+)/i.exec(headText);
      if (length !== null) {
        if (body.length >= Number(length[1])) end(body);
        return;
      }
      const { content, complete } = unchunked(body);
      onText(content.toString());
      if (complete) end(content);
    });
  });
}

/** What complete chunks of HTTP hold. */
function unchunked(bytes: Buffer): { content: Buffer; complete: boolean } {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = lineEnd === -1 ? Number.NaN : Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (size === 0) return { content: Buffer.concat(parts), complete: true };
    if (Number.isNaN(size) || bytes.length < lineEnd + 2 + size) {
      return { content: Buffer.concat(parts), complete: false };
    }
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 4 + size;
  }
}
