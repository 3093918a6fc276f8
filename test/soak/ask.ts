import { Agent, type ClientRequest, type IncomingHttpHeaders, request } from 'node:http';

export interface Question {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly key: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Told of each piece; answers false to leave at once. */
  readonly onPiece?: (piece: Buffer, sent: ClientRequest) => boolean;
  /** Leave after this time, whatever has come. */
  readonly leaveAfterMs?: number;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** `left`: by us; `cut`: the connection ended before the answer did. */
  readonly end: 'whole' | 'left' | 'cut';
}

/** Asks one gateway over kept connections. */
export interface Asking {
  /** @throws when no answer began, or none ended within 60 s */
  ask(question: Question): Promise<Reply>;
  /** Ends every connection. */
  close(): void;
}

const longestMs = 60_000;

export function askingOf(port: number): Asking {
  // Sooner than the gateway closes its side, which would meet a request on its way.
  const agent = new Agent({ keepAlive: true, timeout: 20_000, scheduling: 'lifo' });
  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        const { body, key, method = body === undefined ? 'GET' : 'POST', path, onPiece } = question;
        let left = false;
        const sent = request({
          ...{ agent, method, path, port, host: '127.0.0.1' },
          headers: {
            authorization: `Bearer ${key}`,
            ...(body === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
            ...question.headers,
          },
        });
        const leave = () => {
          left = true;
          sent.destroy();
        };
        const late = setTimeout(() => {
          sent.destroy(new Error(`no end within ${longestMs} ms`));
        }, longestMs);
        const leaving =
          question.leaveAfterMs === undefined ? undefined : setTimeout(leave, question.leaveAfterMs);
        const over = () => {
          clearTimeout(late);
          clearTimeout(leaving);
        };
        sent.on('error', (error) => {
          over();
          if (left) resolve({ status: 0, headers: {}, text: '', end: 'left' });
          else reject(new Error(`${method} ${path}: ${error.message}`, { cause: error }));
        });
        sent.on('response', (response) => {
          const pieces: Buffer[] = [];
          const done = (end: Reply['end']) => {
            over();
            const text = Buffer.concat(pieces).toString();
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text, end });
          };
          response.on('data', (piece: Buffer) => {
            pieces.push(piece);
            if (onPiece?.(piece, sent) === false) leave();
          });
          response.on('error', () => undefined);
          response.on('close', () => done(left ? 'left' : response.complete ? 'whole' : 'cut'));
        });
        sent.end(body);
      }),
    close: () => agent.destroy(),
  };
}
