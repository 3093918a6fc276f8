import { connect, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

// A process of its own: one key does the worst that we know of with the default limits, until it is killed.
// Arguments: port and key text. It yields to the processes that are measured.

setPriority(10);
const [port = '', key = ''] = process.argv.slice(2);
const mib = 1024 * 1024;

function head(path: string, fields: readonly string[]): string {
  return [
    `POST /v1${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    ...fields,
    '\r\n',
  ].join('\r\n');
}

/** A connection that does `work` again whenever it has ended. Answers are thrown away. */
async function again(work: (socket: Socket) => void): Promise<void> {
  for (;;) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {}).resume();
    work(socket);
    await new Promise((resolve) => socket.once('close', resolve));
    await delay(100);
  }
}

/** A compressed body, small for whom it is sent by and large for whom it comes to; refused or answered, it is sent again. */
const bombTo = (path: string, bomb: Buffer) => (socket: Socket) => {
  socket.write(head(path, ['content-encoding: gzip', `content-length: ${bomb.length}`]));
  socket.write(bomb);
  socket.once('data', () => socket.destroy());
};

// Bodies that never end: of 32 KB of gzip that hold 32 MiB, and plain ones that fill what is left.
const slowly = (bytes: Buffer, fields: readonly string[]) => (socket: Socket) => {
  socket.write(head('/chat/completions', [...fields, `content-length: ${bytes.length + 100}`]));
  socket.write(bytes);
  socket.once('data', () => socket.destroy());
};

const request = (model: string, messages: string) =>
  gzipSync(`{"model":"${model}","max_tokens":1,"messages":[${messages}]}`);
const message = '{"role":"user","content":"x"}';
const list = (item: string, bytes: number) =>
  Array(Math.floor(bytes / (item.length + 1)))
    .fill(item)
    .join(',');
const long = (model: string) => request(model, `{"role":"user","content":"${'x'.repeat(31 * mib)}"}`);
/** As many messages as are allowed, and below that bound as much as there may be in each. */
const many = (model: string) => request(model, list(message, 2.9 * mib));
const parts = list('{"type":"text","text":"x"}', 2.6 * mib);
const nested = (model: string) => request(model, list(`{"role":"user","content":[${parts}]}`, 31 * mib));
/** Just below what is large, again and again on connections that stay. */
const medium = `{"model":"t","max_tokens":1,"messages":[${list(message, 200 * 1024)}],"unknown":[${list('[]', 40 * 1024)}]}`;

const unended = gzipSync(Buffer.alloc(32 * mib - 8 * 1024, 'x')).subarray(0, -100);
for (let i = 0; i < 2; i++) void again(slowly(unended, ['content-encoding: gzip']));
for (const bytes of [64 * 1024, 4 * 1024, 512])
  for (let i = 0; i < 20; i++) void again(slowly(Buffer.alloc(bytes, 'x'), []));
await delay(500);
// What `t` is sent is answered by nobody, and held. What is refused at last, by `n` that nobody knows or by a role that
// there is not, gives its memory back, so that it can be sent again at once.
void again(bombTo('/chat/completions', long('t')));
void again(bombTo('/messages', long('t')));
const wrong = '{"role":"nobody","content":"x"}';
const refused = (messages: string) => request('t', `${messages},${wrong}`);
for (const bomb of [long('n'), many('n'), nested('n')]) void again(bombTo('/chat/completions', bomb));
for (const bomb of [
  refused(list(message, 2.8 * mib)),
  refused(list(`{"role":"user","content":[${parts}]}`, 28 * mib)),
])
  for (const path of ['/messages', '/messages/count_tokens']) void again(bombTo(path, bomb));
// Answers that repeat their requests.
const repeated = gzipSync(`{"model":"m","stream":true,"input":"x","instructions":"${'x'.repeat(31 * mib)}"}`);
void again(bombTo('/responses', repeated));
for (let i = 0; i < 4; i++) {
  void again((socket) => {
    socket.write(head('/messages', [`content-length: ${medium.length}`]) + medium);
    setTimeout(() => socket.destroy(), 200);
  });
}
const small = JSON.stringify({ model: 'unknown', messages: [] });
for (let i = 0; i < 2; i++) {
  void again((socket) => {
    socket.write((head('/chat/completions', [`content-length: ${small.length}`]) + small).repeat(250));
    socket.on('data', () => {
      if (socket.bytesRead > 50_000) socket.destroy();
    });
  });
}
// All bodies are made: on a busy machine that takes a while.
process.stdout.write('attacking');
