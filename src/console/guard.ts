/** The parts of a request that decide whether it is refused at once. Header values as they were sent. */
export interface Visit {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
}

/**
 * Why a request is refused before its cookie is read; undefined if it is not. `hosts` are those of `hostsOf`. A request with
 * another host comes from a site whose name was made to resolve to this machine (DNS rebinding). A request that changes
 * something must come from our own page (cross-site request forgery).
 */
export function refusal(
  visit: Visit,
  hosts: ReadonlySet<string>,
  scheme: 'http' | 'https',
): string | undefined {
  const { method, host, origin, fetchSite } = visit;
  const name = host === undefined ? undefined : authorityOf(host, scheme);
  if (name === undefined || !hosts.has(name)) {
    return `The console cannot be used by this name. Use ${scheme}://${[...hosts][0]}.`;
  }
  if (fetchSite !== undefined && !['same-origin', 'none'].includes(fetchSite) && method !== 'GET') {
    return 'The request came from another site. Use the page of the console.';
  }
  if (origin !== undefined && origin.toLowerCase() !== `${scheme}://${name}`) {
    return 'The request came from another origin. Use the page of the console.';
  }
  if (origin === undefined && method !== 'GET' && method !== 'HEAD') {
    return 'The request names no origin. Use the page of the console.';
  }
  return undefined;
}

/** The authorities (RFC 3986 §3.2) by which a console on this address is reached, the one to print first. */
export function hostsOf(
  host: string,
  port: number,
  more: readonly string[],
  scheme: 'http' | 'https',
): ReadonlySet<string> {
  const shown = host.includes(':') ? `[${host}]` : host;
  const names = isLoopback(host) ? [shown, '127.0.0.1', 'localhost', '[::1]', ...more] : [...more, shown];
  return new Set(names.map((name) => authorityOf(`${name}:${port}`, scheme)));
}

/** As browsers write one: without the default port of its scheme, and in lower case. */
function authorityOf(host: string, scheme: 'http' | 'https'): string {
  return host.toLowerCase().replace(scheme === 'https' ? /:443$/ : /:80$/, '');
}

/** Whether only this machine reaches an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Headers of every answer: no content from other origins, no inline scripts, no frames. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
};
