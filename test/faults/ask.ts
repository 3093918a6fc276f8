/** What came of one request; a request never throws. */
export interface Outcome {
  /** 0: no answer began. */
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Whether the answer came to its end; false for one that was visibly broken off, and where none began. */
  readonly whole: boolean;
  /** Milliseconds until the end of the answer, or until it failed. */
  readonly ms: number;
  /** `error.code` and `error.message` of an error in OpenAI's or Anthropic's shape. */
  readonly code: string | undefined;
  readonly message: string | undefined;
  /** What the connection said where the answer is not whole. */
  readonly broken: string | undefined;
}

export interface Ask {
  readonly key: string;
  readonly path?: string;
  readonly method?: string;
  readonly body?: unknown;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Sends one request to `baseURL` (with `/v1`); `path` defaults to chat-completions. */
export async function ask(baseURL: string, request: Ask): Promise<Outcome> {
  const { key, path = '/chat/completions', body, timeoutMs = 30_000 } = request;
  const began = performance.now();
  const limit = AbortSignal.timeout(timeoutMs);
  let status = 0;
  let headers = new Headers();
  let text = '';
  let broken: string | undefined;
  try {
    const response = await fetch(baseURL + path, {
      method: request.method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: request.signal === undefined ? limit : AbortSignal.any([limit, request.signal]),
    });
    ({ status, headers } = response);
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) text += decoder.decode(piece, { stream: true });
  } catch (error) {
    const { cause } = error as { cause?: { code?: string; message?: string } };
    broken = cause?.code ?? cause?.message ?? String(error);
  }
  const ms = performance.now() - began;
  return { status, headers, text, whole: broken === undefined, ms, broken, ...errorOf(text) };
}

/** A chat request for a model. */
export function chatBody(model: string, stream = false): object {
  return { model, messages: [{ role: 'user', content: 'Hello' }], ...(stream ? { stream } : {}) };
}

function errorOf(text: string): { code: string | undefined; message: string | undefined } {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; type?: unknown; message?: unknown } };
    const asText = (value: unknown) => (typeof value === 'string' ? value : undefined);
    return { code: asText(error?.code) ?? asText(error?.type), message: asText(error?.message) };
  } catch {
    return { code: undefined, message: undefined };
  }
}

/** The text of a chat answer, plain or streamed; undefined where it is not complete. */
export function chatText(text: string, stream: boolean): string | undefined {
  try {
    if (!stream) {
      const { choices } = JSON.parse(text) as { choices: { message: { content: string } }[] };
      return choices[0]?.message.content;
    }
    if (!text.endsWith('data: [DONE]\n\n')) return undefined;
    let content = '';
    for (const event of text.split('\n\n')) {
      if (!event.startsWith('data: {')) continue;
      const { choices } = JSON.parse(event.slice(6)) as { choices?: { delta: { content?: string } }[] };
      content += choices?.[0]?.delta.content ?? '';
    }
    return content;
  } catch {
    return undefined;
  }
}
