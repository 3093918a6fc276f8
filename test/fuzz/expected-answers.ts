/** What must come of bytes on one connection, read by the letter of RFC 9112 and apart from any parser of the gateway's. */
export interface ExpectedAnswers {
  /** Methods of the requests that are whole: each is owed an answer, unless the gateway closes the connection. */
  readonly methods: readonly string[];
  /** What stands behind them: nothing, what must be refused or is owed a close, or the beginning of something. */
  readonly rest: 'nothing' | 'refusal' | 'more';
}

// Bytes above 127 have no place in a target, nor have two spaces behind it, but many servers take them, Node.js among them.
const requestLine = /^(GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS|TRACE) [\x21-\x7e\x80-\xff]+ +HTTP\/1\.[01]$/;
const field = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
const chunkLine = /^([0-9a-fA-F]{1,8})(?:;[\t\x21-\x7e\x80-\xff]*)?$/;

export function expectedAnswers(bytes: Buffer): ExpectedAnswers {
  const text = bytes.toString('latin1');
  const methods: string[] = [];
  let at = 0;
  for (;;) {
    while (text.startsWith('\r\n', at)) at += 2;
    if (at >= text.length) return { methods, rest: 'nothing' };
    const end = text.indexOf('\r\n\r\n', at);
    if (end === -1) return { methods, rest: 'more' };
    const [line = '', ...lines] = text.slice(at, end).split('\r\n');
    const method = requestLine.exec(line)?.[1];
    const fields = lines.map((each) => field.exec(each));
    if (method === undefined || fields.includes(null)) return { methods, rest: 'refusal' };
    const values = (name: string) =>
      fields.flatMap((found) => (found?.[1]?.toLowerCase() === name ? [(found[2] ?? '').trim()] : []));
    const past = bodyEnd(text, end + 4, values('content-length'), values('transfer-encoding'));
    if (typeof past === 'string') return { methods, rest: past };
    methods.push(method);
    at = past;
  }
}

/** Where the body ends; else whether it is a wrong one, or not all there. */
function bodyEnd(
  text: string,
  start: number,
  lengths: readonly string[],
  codings: readonly string[],
): number | 'refusal' | 'more' {
  if (codings.length > 0) {
    // `gzip, chunked` is one that is framed well, whether its content is understood or not.
    const names = codings.flatMap((each) => each.toLowerCase().split(/\s*,\s*/));
    const isChunked = names.indexOf('chunked') === names.length - 1;
    return isChunked && lengths.length === 0 ? chunksEnd(text, start) : 'refusal';
  }
  if (lengths.length === 0) return start;
  const [length = ''] = lengths;
  if (lengths.length > 1 || !/^\d{1,15}$/.test(length)) return 'refusal';
  return start + Number(length) <= text.length ? start + Number(length) : 'more';
}

function chunksEnd(text: string, start: number): number | 'refusal' | 'more' {
  for (let at = start; ; ) {
    const end = text.indexOf('\r\n', at);
    if (end === -1) return 'more';
    const size = chunkLine.exec(text.slice(at, end))?.[1];
    if (size === undefined) return 'refusal';
    const past = end + 2 + Number.parseInt(size, 16);
    if (Number.parseInt(size, 16) === 0) return trailersEnd(text, past);
    if (past + 2 > text.length) return 'more';
    if (!text.startsWith('\r\n', past)) return 'refusal';
    at = past + 2;
  }
}

function trailersEnd(text: string, start: number): number | 'refusal' | 'more' {
  for (let at = start; ; ) {
    const end = text.indexOf('\r\n', at);
    if (end === -1) return 'more';
    if (end === at) return end + 2;
    if (!field.test(text.slice(at, end))) return 'refusal';
    at = end + 2;
  }
}
