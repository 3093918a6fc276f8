import { request as ask } from 'node:http';

/** What a server answered to a request whose target was sent as it is. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Sends a request with a target that no client would write, such as `/%61pi` or the absolute form. */
export function askRaw(
  origin: string,
  method: string,
  target: string,
  options: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const { body: sent = '' } = options;
    // Of a GET or a DELETE node:http sends no length by itself, and its body would be the next request.
    const length = sent === '' ? {} : { 'content-length': Buffer.byteLength(sent) };
    const headers = { host: `${hostname}:${port}`, ...length, ...options.headers };
    const request = ask({ host: hostname, port, method, path: target, headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        body += piece;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      );
      response.on('error', reject);
    });
    request.on('error', reject).end(sent);
  });
}
