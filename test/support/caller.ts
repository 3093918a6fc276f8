/** An answer of the gateway, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** `error.code` of an error in the OpenAI shape. */
  readonly code: string | undefined;
}

/** Calls one gateway with one key. */
export interface Caller {
  /** With `/v1`. */
  readonly baseURL: string;
  chat(model: string, options?: { stream?: boolean }): Promise<Answer>;
  /** The names that `GET /models` lists. */
  models(): Promise<string[]>;
  send(method: string, path: string, body?: unknown): Promise<Answer>;
}

/** `baseURL` with `/v1`. Every request has 30 s. */
export function callerOf(baseURL: string, key: string): Caller {
  const caller: Caller = {
    baseURL,
    async send(method, path, body) {
      const response = await fetch(baseURL + path, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(30_000),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, code: codeOf(text) };
    },
    chat: (model, { stream = false } = {}) =>
      caller.send('POST', '/chat/completions', {
        model,
        messages: [{ role: 'user', content: 'Hello' }],
        ...(stream ? { stream } : {}),
      }),
    async models() {
      const { status, text } = await caller.send('GET', '/models');
      if (status !== 200) throw new Error(`GET /models: HTTP ${status}: ${text}`);
      return (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id);
    },
  };
  return caller;
}

function codeOf(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown } };
    return typeof error?.code === 'string' ? error.code : undefined;
  } catch {
    return undefined;
  }
}
