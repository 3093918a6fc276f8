import { constants, createDeflate, createInflate, type Deflate, type Inflate } from 'node:zlib';

// Header blocks of SPDY/3.1 (its draft 3.1, 2.6.10): names and values with their lengths, compressed by one zlib stream
// for each direction of a connection, which both ends prime with this dictionary.
const words =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization cache-control connection content-base content-encoding content-language content-length content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin'.split(
    ' ',
  );
const rest =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.';
const dictionary = Buffer.concat([
  ...words.map((word) => withLength(word.replace('_', ' '))),
  Buffer.from(rest),
]);

/** Both directions of one connection; blocks must come in their order. */
export interface SpdyHeaders {
  read(block: Buffer): Promise<ReadonlyMap<string, string>>;
  write(headers: ReadonlyMap<string, string>): Promise<Buffer>;
}

export function spdyHeaders(): SpdyHeaders {
  const inflate = createInflate({ dictionary });
  const deflate = createDeflate({ dictionary });
  return {
    async read(block) {
      const plain = await through(inflate, block);
      const texts: string[] = [];
      for (let at = 4; at < plain.length; ) {
        const end = at + 4 + plain.readUInt32BE(at);
        texts.push(plain.toString('latin1', at + 4, end));
        at = end;
      }
      const pairs = texts.flatMap((text, index) => (index % 2 === 0 ? [[text, texts[index + 1] ?? '']] : []));
      return new Map(pairs as [string, string][]);
    },
    write(headers) {
      const count = Buffer.alloc(4);
      count.writeUInt32BE(headers.size);
      return through(deflate, Buffer.concat([count, ...[...headers].flat().map(withLength)]));
    },
  };
}

async function through(stream: Inflate | Deflate, input: Buffer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const keep = (chunk: Buffer): void => void chunks.push(chunk);
  stream.on('data', keep);
  try {
    await new Promise<void>((resolve, reject) => {
      stream.once('error', reject);
      stream.write(input, (error) => (error ? reject(error) : stream.flush(constants.Z_SYNC_FLUSH, resolve)));
    });
  } finally {
    stream.off('data', keep);
  }
  return Buffer.concat(chunks);
}

function withLength(text: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, Buffer.from(text, 'latin1')]);
}
