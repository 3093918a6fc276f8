import { Duplex } from 'node:stream';
import { spdyHeaders } from './spdy-headers.ts';

/** One stream of a SPDY connection, with the headers that opened it. */
export interface SpdyStream extends Duplex {
  readonly headers: ReadonlyMap<string, string>;
}

const [synStream, synReply, rstStream, ping, goAway] = [1, 2, 3, 6, 7];
const fin = 1;
const cancelled = 5;
/** A frame that is longer comes from somebody who speaks something else. */
const longestFrame = 1_048_576;

/**
 * The server's end of SPDY/3.1, as far as Kubernetes speaks it: streams that the client opens, no flow control. Settles
 * when the connection has ended. @throws on what is no SPDY
 */
export async function serveSpdy(wire: Duplex, onStream: (stream: SpdyStream) => void): Promise<void> {
  const headers = spdyHeaders();
  const streams = new Map<number, Duplex>();
  wire.on('error', () => undefined);
  wire.on('close', () => {
    for (const stream of streams.values()) stream.destroy();
  });
  const control = (type: number, body: Buffer): Buffer => frame(0x8003_0000 + type, 0, body);

  const open = async (body: Buffer): Promise<void> => {
    const id = body.readUInt32BE(0);
    const sent = await headers.read(body.subarray(10));
    const stream = Object.assign(streamOf(wire, id), { headers: sent });
    streams.set(id, stream);
    stream.on('error', () => undefined);
    stream.on('close', () => {
      streams.delete(id);
      // Cut short: the other end must not take it for the end of the data.
      if (!stream.writableFinished && wire.writable)
        wire.write(control(rstStream, Buffer.concat([uint(id), uint(cancelled)])));
    });
    wire.write(control(synReply, Buffer.concat([uint(id), await headers.write(new Map())])));
    onStream(stream);
  };
  for await (const { first, flags, body } of framesOf(wire)) {
    const isControl = first >= 0x8000_0000;
    const type = isControl ? first & 0xffff : 0;
    if (type === synStream) await open(body);
    else if (type === ping) wire.write(control(ping, body));
    else if (type === rstStream) streams.get(body.readUInt32BE(0))?.destroy();
    else if (type === goAway) wire.end();
    else if (!isControl) {
      const stream = streams.get(first);
      stream?.push(body);
      if (flags === fin) stream?.push(null);
    }
  }
}

function streamOf(wire: Duplex, id: number): Duplex {
  return new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => void wire.write(frame(id, 0, chunk), done),
    final: (done) => void wire.write(frame(id, fin, Buffer.alloc(0)), done),
  });
}

async function* framesOf(wire: Duplex): AsyncGenerator<{ first: number; flags: number; body: Buffer }> {
  let rest = Buffer.alloc(0);
  for await (const chunk of wire) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    while (rest.length >= 8) {
      const length = rest.readUIntBE(5, 3);
      if (length > longestFrame) throw new Error(`a SPDY frame of ${length} bytes`);
      if (rest.length < 8 + length) break;
      yield { first: rest.readUInt32BE(0), flags: rest.readUInt8(4), body: rest.subarray(8, 8 + length) };
      rest = rest.subarray(8 + length);
    }
  }
}

function frame(first: number, flags: number, body: Buffer): Buffer {
  return Buffer.concat([uint(first), uint(flags * 0x100_0000 + body.length), body]);
}

function uint(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
