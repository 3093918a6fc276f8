/** The answers that came back on one connection. */
export interface Answers {
  readonly statuses: readonly number[];
  /** Whether the last one is whole; true without any. */
  readonly whole: boolean;
  /** Whether it says that the connection is closed behind it. */
  readonly closes: boolean;
  /** What is not as HTTP or the gateway's own errors have to be. */
  readonly wrong?: string;
}

/** Reads answers to requests of these methods, latin1 text. */
export function readAnswers(text: string, methods: readonly string[]): Answers {
  const statuses: number[] = [];
  let closes = false;
  let at = 0;
  while (at < text.length) {
    const end = text.indexOf('\r\n\r\n', at);
    if (end === -1) return { statuses, whole: false, closes };
    const head = text.slice(at, end);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    if (Number.isNaN(status))
      return { statuses, whole: false, closes, wrong: `no answer: ${head.slice(0, 300)}` };
    at = end + 4;
    if (status < 200) continue;
    const isHead = methods[statuses.length] === 'HEAD';
    statuses.push(status);
    closes = /\r\nconnection: close(?:\r\n|$)/i.test(head);
    if (isHead || status === 204) continue;
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    const body = length === undefined ? chunked(text, at) : sized(text, at, Number(length));
    if (body === undefined) return { statuses, whole: false, closes };
    at = body.past;
    if (status >= 400 && !isError(body.text)) {
      return { statuses, whole: true, closes, wrong: `no error in JSON: ${body.text.slice(0, 300)}` };
    }
  }
  return { statuses, whole: true, closes };
}

function sized(text: string, start: number, length: number) {
  const past = start + length;
  return past > text.length ? undefined : { past, text: text.slice(start, past) };
}

function chunked(text: string, start: number): { past: number; text: string } | undefined {
  let body = '';
  for (let at = start; ; ) {
    const end = text.indexOf('\r\n', at);
    const size = end === -1 ? Number.NaN : Number.parseInt(text.slice(at, end), 16);
    const past = end + 2 + size;
    if (Number.isNaN(size) || past + 2 > text.length) return undefined;
    if (size === 0) return { past: past + 2, text: body };
    body += text.slice(end + 2, past);
    at = past + 2;
  }
}

function isError(body: string): boolean {
  try {
    return 'error' in (JSON.parse(body) as object);
  } catch {
    return false;
  }
}
