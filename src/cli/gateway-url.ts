/** The base URL that callers use: `/v1` is added where the text, an http URL, has no path. Without a slash at the end. */
export function gatewayURL(text: string): string {
  const url = new URL(text);
  return url.pathname === '/' ? `${url.origin}/v1` : text.replace(/\/+$/, '');
}
