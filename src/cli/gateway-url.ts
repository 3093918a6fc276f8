/** The base URL that callers use, without a slash at the end. `/v1` is added if the text, an http URL, has no path. */
export function gatewayURL(text: string): string {
  const url = new URL(text);
  return url.pathname === '/' ? `${url.origin}/v1` : text.replace(/\/+$/, '');
}
