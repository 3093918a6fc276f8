import { timingSafeEqual } from 'node:crypto';

/** Browsers that may be signed in at once. The one that was idle longest is signed out first. */
const mostSessions = 20;
/** Addresses that were made and not opened yet. */
const mostTokens = 20;

/** Who may use the console: a browser that opens an address with a token, once, and then shows its cookie. */
export interface Sessions {
  /** A new token for an address. It is good for one use. */
  newToken(): string;
  /** The value of the cookie that a token is exchanged for; undefined when it is unknown or was used before. */
  redeem(token: string): string | undefined;
  /**
   * Whether the cookie's session is alive. `acts`: a person's action caused the request. Requests that the page sends
   * without one do not keep a session alive.
   */
  holds(cookie: string | undefined, acts: boolean): boolean;
}

/** A secret for an address or a cookie: 256 random bits. */
export function newSecret(randomBytes: (size: number) => Buffer): string {
  return randomBytes(32).toString('base64url');
}

/** `idleMs` is how long a session lives without an act; `now` is in milliseconds. */
export function createSessions(options: {
  randomBytes: (size: number) => Buffer;
  now: () => number;
  idleMs: number;
  /** Of addresses that were made before. */
  tokens?: readonly string[];
}): Sessions {
  const { randomBytes, now, idleMs } = options;
  const tokens = new Set<string>(options.tokens);
  const sessions = new Map<string, number>();
  const secret = (): string => newSecret(randomBytes);

  const dropIdle = (): void => {
    for (const [cookie, actedMs] of sessions) if (now() - actedMs > idleMs) sessions.delete(cookie);
  };

  return {
    newToken() {
      const token = secret();
      tokens.add(token);
      for (const oldest of tokens) if (tokens.size > mostTokens) tokens.delete(oldest);
      return token;
    },
    redeem(token) {
      const known = matching(tokens, token);
      if (known === undefined) return undefined;
      tokens.delete(known);
      const cookie = secret();
      sessions.set(cookie, now());
      for (const oldest of sessions.keys()) if (sessions.size > mostSessions) sessions.delete(oldest);
      return cookie;
    },
    holds(cookie, acts) {
      dropIdle();
      const known = cookie === undefined ? undefined : matching(sessions.keys(), cookie);
      if (known === undefined) return false;
      if (acts) {
        sessions.delete(known);
        sessions.set(known, now());
      }
      return true;
    },
  };
}

/** Compares with each in constant time, so that the time of a wrong guess does not show how much of it is right. */
function matching(known: Iterable<string>, given: string): string | undefined {
  const wanted = Buffer.from(given);
  let found: string | undefined;
  for (const one of known) {
    const bytes = Buffer.from(one);
    if (bytes.length === wanted.length && timingSafeEqual(bytes, wanted)) found = one;
  }
  return found;
}
