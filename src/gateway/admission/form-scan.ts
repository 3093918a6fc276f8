import { isUtf8 } from 'node:buffer';

/** Why a body is not the multipart/form-data that every server reads alike, and where. */
export class FormScanError extends Error {
  readonly offset: number;

  constructor(reason: string, offset: number) {
    super(reason);
    this.name = 'FormScanError';
    this.offset = offset;
  }
}

/** Where something is in a body. */
interface Place {
  readonly start: number;
  readonly end: number;
}

/** One part. Offsets are bytes of the body, ends exclusive. */
export interface FormPart {
  readonly name: string;
  readonly isFile: boolean;
  /** Its content-type; undefined if it has none. */
  readonly type: string | undefined;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Where the digits of its own content-length are; undefined if it has none. */
  readonly length: Place | undefined;
}

export interface FormBounds {
  readonly maxParts: number;
  /** Of the headers of one part. */
  readonly maxHeaderBytes: number;
}

const lineEnd = '\r\n';
const headersEnd = '\r\n\r\n';

/**
 * Reads a multipart/form-data body (RFC 7578) and reports each part. It accepts only what common clients write, because
 * servers differ in everything else: text around the parts, other line ends, folded or repeated headers, escapes, encodings,
 * a boundary within a value. If the node read another part as `model` than we do, an allowlist would have no effect. Parsers
 * made for applications accept all of these, and do not return the position of a value. Values are not read. Throws
 * FormScanError.
 */
export function scanForm(
  body: Buffer,
  boundary: string,
  { maxParts, maxHeaderBytes }: FormBounds,
  onPart: (part: FormPart) => void,
): void {
  const delimiter = Buffer.from(`--${boundary}`);
  if (!body.subarray(0, delimiter.length).equals(delimiter)) {
    const what =
      body.length === 0 ? 'it is empty' : 'it does not begin with the boundary of the content-type';
    throw new FormScanError(what, 0);
  }
  let at = delimiter.length;
  for (let parts = 0; !isLast(body, at); parts++) {
    if (!hasLineEnd(body, at)) throw afterBoundary(body, at);
    if (parts === maxParts) throw new FormScanError(`it has more than ${maxParts} parts`, at);
    const head = body.subarray(at, at + lineEnd.length + maxHeaderBytes + headersEnd.length);
    const headLength = head.indexOf(headersEnd);
    if (headLength === -1) throw unendedHead(body, head.length, at, maxHeaderBytes);
    const valueStart = at + headLength + headersEnd.length;
    const next = body.indexOf(delimiter, at);
    if (next === -1) throw cutOff(body);
    const valueEnd = next - lineEnd.length;
    if (valueEnd < valueStart || !hasLineEnd(body, valueEnd)) throw boundaryWithin(next);
    onPart(partOf(body, at + lineEnd.length, at + headLength, valueStart, valueEnd));
    at = next + delimiter.length;
  }
}

/** Whether the boundary before `at` is the last one, and nothing follows. */
function isLast(body: Buffer, at: number): boolean {
  if (body.toString('latin1', at, at + 2) !== '--') return false;
  const rest = body.length - at - 2;
  if (rest === 0 || (rest === lineEnd.length && hasLineEnd(body, at + 2))) return true;
  throw new FormScanError('there is more text after its last boundary', at + 2);
}

function hasLineEnd(body: Buffer, at: number): boolean {
  return body[at] === 0x0d && body[at + 1] === 0x0a;
}

function afterBoundary(body: Buffer, at: number): FormScanError {
  return body.length - at < lineEnd.length ? cutOff(body) : boundaryWithin(at);
}

function unendedHead(body: Buffer, seen: number, at: number, most: number): FormScanError {
  if (at + seen === body.length) return cutOff(body);
  return new FormScanError(`the headers of a part have more than ${most} bytes`, at);
}

function cutOff(body: Buffer): FormScanError {
  return new FormScanError('it ends before its last boundary', body.length);
}

function boundaryWithin(at: number): FormScanError {
  return new FormScanError(
    'the boundary stands where no part begins or ends; lines end with CRLF, and no value may contain the boundary',
    at,
  );
}

/** A name that no server decodes, cuts off, splits or folds into another one. */
const bareName = String.raw`[A-Za-z_][\w.-]{0,127}`;
/** In quotes pairs of brackets may follow, as in `timestamp_granularities[]`: servers cut a single bracket off. */
const quotedName = String.raw`${bareName}(?:\[[\w.-]{0,127}\]){0,8}`;
const token = String.raw`[\w!#$&+.^|~-]+`;
/** In quotes: what no server takes for the end of the name, or for a further parameter. */
const disposition = new RegExp(
  String.raw`^form-data;[ \t]*name=(?:"(${quotedName})"|(${bareName}))` +
    String.raw`(;[ \t]*filename=(?:"[^"\\;\0-\x1f\x7f]*"|${token}))?(;[ \t]*filename\*=[\w!#$&+.^|~%'-]+)?$`,
);
/** Blanks around the value are not in the pattern: looking for them at both ends takes cubic time. */
const headerLine = /^([A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
const known: ReadonlySet<string> = new Set([
  'content-disposition',
  'content-type',
  'content-length',
  'content-transfer-encoding',
]);

/** The part whose headers are between these offsets. */
function partOf(body: Buffer, start: number, end: number, valueStart: number, valueEnd: number): FormPart {
  if (!isUtf8(body.subarray(start, end)))
    throw new FormScanError('the headers of a part are not UTF-8', start);
  const values = new Map<string, string>();
  let length: Place | undefined;
  let at = start;
  for (const line of start > end ? [] : body.toString('latin1', start, end).split(lineEnd)) {
    const [, name = '', untrimmed = ''] = headerLine.exec(line) ?? [];
    const header = name.toLowerCase();
    const value = untrimmed.trim();
    if (!known.has(header)) throw new FormScanError(badHeader, at);
    if (values.has(header)) throw new FormScanError(`a part has ${header} twice; send it once`, at);
    values.set(header, value);
    if (header === 'content-length') {
      if (value !== String(valueEnd - valueStart))
        throw new FormScanError('the content-length of a part is not its length; leave it out', at);
      const valueAt = at + line.lastIndexOf(value);
      length = { start: valueAt, end: valueAt + value.length };
    }
    at += line.length + lineEnd.length;
  }
  const named = values.get('content-disposition');
  if (named === undefined) throw new FormScanError('a part has no content-disposition', start);
  const [, quoted, bare, filename, extended] = disposition.exec(named) ?? [];
  const name = quoted ?? bare;
  if (name === undefined) throw new FormScanError(badDisposition, start);
  const type = values.get('content-type');
  if (type !== undefined && /^(?:multipart|message)\//i.test(type))
    throw new FormScanError(`the part '${name}' is itself multipart; send its parts one by one`, start);
  if (!/^(?:7bit|8bit|binary)$/i.test(values.get('content-transfer-encoding') ?? 'binary'))
    throw new FormScanError(
      `the part '${name}' has a content-transfer-encoding; send its bytes as they are`,
      start,
    );
  const isFile = filename !== undefined || extended !== undefined;
  if (!isFile && hasOtherCharset(type))
    throw new FormScanError(`the part '${name}' has a charset that is not UTF-8; send it in UTF-8`, start);
  return { name, isFile, type, valueStart, valueEnd, length };
}

function hasOtherCharset(type = ''): boolean {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^";]*)/i.exec(type) ?? [];
  return !/^(?:utf-?8|us-ascii)\s*$/i.test(charset);
}

const badHeader =
  'a line before a value is not one of the headers content-disposition, content-type, content-length and content-transfer-encoding, each on one line';
const badDisposition =
  'the content-disposition of a part must be form-data; name="NAME", for a file followed by filename="FILE"; a NAME has up to 128 letters, digits and _.-, then [INDEX] if need be, and a FILE no quote, backslash or semicolon';
