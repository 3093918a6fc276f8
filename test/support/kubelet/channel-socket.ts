import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';

const magic = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Of those that clients offer, the one that a kubelet forwards ports by. */
const protocol = 'v4.channel.k8s.io';
const [continuation, binary, close, ping, pong] = [0, 2, 8, 9, 10];

/** Channels of a WebSocket: what is written to one comes out of the other end's with the same number. */
export interface ChannelSocket {
  readonly data: Duplex;
  /** Writes one message to a channel. */
  say(channel: number, message: Buffer): void;
  close(): void;
}

/** Answers an upgrade to a WebSocket (RFC 6455) of which the first byte of each message is its channel. */
export function acceptChannels({ headers }: IncomingMessage, wire: Duplex): ChannelSocket | undefined {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(/,\s*/);
  if (!offered.includes(protocol)) {
    wire.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    return undefined;
  }
  const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${magic}`).digest('base64');
  wire.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\nsec-websocket-protocol: ${protocol}\r\n\r\n`,
  );
  const say = (channel: number, message: Buffer, done?: () => void): void => {
    if (wire.writable) wire.write(frame(binary, Buffer.concat([Buffer.from([channel]), message])), done);
  };
  const data = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => say(0, chunk, done),
  });
  wire.on('error', () => undefined);
  wire.on('close', () => data.destroy());
  data.on('error', () => undefined);
  void follow(wire, data).catch(() => wire.destroy());
  return {
    data,
    say,
    close: () => {
      if (wire.writable) wire.end(frame(close, Buffer.from([0x03, 0xe8])));
    },
  };
}

async function follow(wire: Duplex, data: Duplex): Promise<void> {
  let rest = Buffer.alloc(0);
  for await (const chunk of wire) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    for (let next = frameIn(rest); next !== undefined; next = frameIn(rest)) {
      rest = rest.subarray(next.end);
      const { code, body } = next;
      if (code === close) data.push(null);
      else if (code === ping) wire.write(frame(pong, body));
      else if (code === continuation) throw new Error('a message in pieces');
      else if (code === binary && body[0] === 0) data.push(body.subarray(1));
    }
  }
}

/** The first frame of what came, unmasked; undefined while it is not whole. */
function frameIn(bytes: Buffer): { code: number; body: Buffer; end: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes.readUInt8(1) & 0x7f;
  const head = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (bytes.length < head + 4) return undefined;
  const length =
    short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
  const end = head + 4 + length;
  if (bytes.length < end) return undefined;
  const mask = bytes.subarray(head, head + 4);
  const body = Buffer.from(bytes.subarray(head + 4, end).map((byte, at) => byte ^ (mask[at % 4] ?? 0)));
  return { code: bytes.readUInt8(0) & 0x0f, body, end };
}

function frame(code: number, body: Buffer): Buffer {
  const head = Buffer.alloc(body.length < 126 ? 2 : body.length < 65_536 ? 4 : 10);
  head.writeUInt8(0x80 | code, 0);
  if (body.length < 126) head.writeUInt8(body.length, 1);
  else if (body.length < 65_536) {
    head.writeUInt8(126, 1);
    head.writeUInt16BE(body.length, 2);
  } else {
    head.writeUInt8(127, 1);
    head.writeBigUInt64BE(BigInt(body.length), 2);
  }
  return Buffer.concat([head, body]);
}
