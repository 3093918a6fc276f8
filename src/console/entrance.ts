import type { FastifyRequest } from 'fastify';
import { hostsOf, refusal } from './guard.ts';
import { createSessions } from './sessions.ts';

/** Controls access: by the host name of a request, by an address with a token, and then by a cookie. */
export interface Entrance {
  /** Sets the port that browsers use. Until then every request is refused. */
  open(port: number): void;
  /** Why a request is refused before its cookie is read; undefined if it is not. */
  refusal(request: FastifyRequest): string | undefined;
  /** Whether the request's cookie is that of a live session. `acts`: a person's action caused the request. */
  holds(request: FastifyRequest, acts: boolean): boolean;
  /** Identifies the request's browser: the secret that it signed in with. */
  browser(request: FastifyRequest): string | undefined;
  /** The `Set-Cookie` header that a token is exchanged for, once; undefined when it is unknown or was used. */
  redeem(token: string): string | undefined;
  /** An address with a new token in it. */
  newAddress(): string;
}

/** `names` are further names that the console is reached by, without port; `tokens` those of addresses made before. */
export function createEntrance(options: {
  readonly host: string;
  readonly names?: readonly string[];
  readonly scheme: 'http' | 'https';
  readonly tokens?: readonly string[];
  readonly idleMs: number;
  readonly now: () => number;
  readonly randomBytes: (size: number) => Buffer;
}): Entrance {
  const { host, names = [], scheme } = options;
  const sessions = createSessions(options);
  let hosts: ReadonlySet<string> = new Set();
  let cookieName = '';
  return {
    open(port) {
      hosts = hostsOf(host, port, names, scheme);
      // Cookies know no ports: without it two consoles on one machine would sign each other out.
      cookieName = `model-gateway-console-${port}`;
    },
    refusal({ method, headers }) {
      const fetchSite = oneHeader(headers['sec-fetch-site']);
      return refusal({ method, host: headers.host, origin: headers.origin, fetchSite }, hosts, scheme);
    },
    holds: ({ headers }, acts) => sessions.holds(cookieOf(headers.cookie, cookieName), acts),
    browser: ({ headers }) => cookieOf(headers.cookie, cookieName),
    redeem(token) {
      const cookie = sessions.redeem(token);
      if (cookie === undefined) return undefined;
      const secure = scheme === 'https' ? '; Secure' : '';
      return `${cookieName}=${cookie}; Path=/; HttpOnly; SameSite=Strict${secure}`;
    },
    newAddress: () => `${scheme}://${[...hosts][0]}/?token=${sessions.newToken()}`,
  };
}

/** The first value of a header that may be sent several times. */
export function oneHeader(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function cookieOf(header: string | undefined, name: string): string | undefined {
  const found = header?.split(/;\s*/).find((pair) => pair.startsWith(`${name}=`));
  return found?.slice(name.length + 1);
}
