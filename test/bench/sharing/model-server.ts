import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A simulated model server: so many slots, one service time, and a prefix cache of sessions. */
export interface ModelServer {
  readonly url: string;
  /** Requests answered, and those of them whose prefix was in the cache. */
  served: number;
  hits: number;
  /** Requests under way now, and the most at one time. */
  underWay: number;
  most: number;
  /** Requests of each key, by the `user` of the body, in the order of their arrival. */
  readonly users: string[];
  /** Refuses connections, and breaks the open ones. */
  die(): Promise<void>;
  /** Listens again, with an empty cache. */
  comeBack(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const body = '{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[],"usage":null}';
const answer = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

/**
 * Starts one on loopback. A request is a body with `turn` (from 1) and `conversation`. Its prefix is in the cache if the server answered the
 * turn before. The cache holds `cached` conversations, the last used ones.
 */
export async function startModelServer(options: {
  /** How long the next answer takes. */
  readonly serviceMs: () => number;
  readonly cached: number;
}): Promise<ModelServer> {
  const { serviceMs, cached } = options;
  const cache = new Map<string, number>();
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;
  const answerOne = async (socket: Socket, text: string): Promise<void> => {
    self.underWay += 1;
    self.most = Math.max(self.most, self.underWay);
    const user = /"user":"([^"]*)"/.exec(text)?.[1];
    if (user !== undefined) self.users.push(user);
    await delay(serviceMs());
    self.underWay -= 1;
    const conversation = /"conversation":"([^"]*)"/.exec(text)?.[1];
    if (conversation !== undefined) {
      const turn = Number(/"turn":(\d+)/.exec(text)?.[1]);
      if (turn > 1 && cache.get(conversation) === turn - 1) self.hits += 1;
      cache.delete(conversation);
      cache.set(conversation, turn);
      for (const oldest of cache.keys()) {
        if (cache.size <= cached) break;
        cache.delete(oldest);
      }
    }
    self.served += 1;
    socket.write(answer);
  };
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (piece) => {
      text += piece.toString('latin1');
      for (;;) {
        const head = text.indexOf('\r\n\r\n');
        const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
        if (head < 0 || text.length < head + 4 + length) return;
        void answerOne(socket, text.slice(head, head + 4 + length));
        text = text.slice(head + 4 + length);
      }
    });
  };
  const listen = (): Promise<void> =>
    new Promise((resolve) => {
      server = createServer({ noDelay: true }, accept).listen(port, '127.0.0.1', () => {
        const address = server?.address();
        if (typeof address === 'object' && address !== null) ({ port } = address);
        resolve();
      });
    });
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server?.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen();
  const self: ModelServer = {
    url: `http://127.0.0.1:${port}/v1`,
    served: 0,
    hits: 0,
    underWay: 0,
    most: 0,
    users: [],
    die: close,
    async comeBack() {
      cache.clear();
      await listen();
    },
    [Symbol.asyncDispose]: close,
  };
  return self;
}
