import { createEventReader, errorOf, type TryFormatName, tryFormats } from './try-formats.ts';

/** Longest part of a raw answer that is kept, in characters. */
const mostRaw = 200_000;

/** The gateway's headers about its answer; undefined if absent. */
export interface Facts {
  readonly status: number;
  readonly servedBy: string | undefined;
  /** The node's name for the model, if another one was asked for. */
  readonly model: string | undefined;
  readonly attempts: string | undefined;
  readonly conversion: string | undefined;
  readonly dropped: string | undefined;
  readonly firstMs: number | undefined;
  readonly totalMs: number | undefined;
}

/** A request of "Try it" and its answer so far. */
export interface Progress {
  readonly text: string;
  readonly raw: string;
  readonly facts: Facts;
  /** Why there is no complete answer, in words; undefined while there may still be one. */
  readonly failure: string | undefined;
}

/**
 * Sends one request and reports its progress until it ends. An answer with an error status, with an error in its stream,
 * or without its last event has failed. Throws if the console's server cannot be reached, or `signal` aborts.
 */
export async function converse(
  request: {
    readonly path: string;
    readonly key: string;
    readonly body: unknown;
    readonly format: TryFormatName;
    readonly signal: AbortSignal;
  },
  report: (progress: Progress) => void,
): Promise<void> {
  const { path, key, body, format, signal } = request;
  const { textOf, isEnd } = tryFormats[format];
  const started = performance.now();
  const answer = await fetch('/api/try', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ path, key, body }),
    signal,
  });
  const header = (name: string): string | undefined => answer.headers.get(name) || undefined;
  const streamed = header('x-answer-type')?.includes('event-stream') === true;
  const facts = {
    status: answer.status,
    servedBy: header('x-model-gateway-node'),
    model: header('x-model-gateway-model'),
    attempts: header('x-model-gateway-attempts'),
    conversion: header('x-model-gateway-conversion'),
    dropped: header('x-model-gateway-dropped'),
  };
  let [text, raw] = ['', ''];
  let [firstMs, failure] = [undefined as number | undefined, undefined as string | undefined];
  let ended = false;
  const tell = (totalMs?: number): void =>
    report({ text, raw, failure, facts: { ...facts, firstMs, totalMs } });
  const hear = (data: string): void => {
    const said = parsed(data);
    text += textOf(said);
    failure ??= errorOf(said);
    ended ||= data === '[DONE]' || isEnd(said);
  };
  const read = createEventReader();
  const decoder = new TextDecoder();
  const reader = answer.body?.getReader();
  try {
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
      if (done) break;
      const piece = decoder.decode(value, { stream: true });
      if (raw.length < mostRaw) raw += piece;
      if (streamed) for (const data of read(piece)) hear(data);
      if (text !== '') firstMs ??= performance.now() - started;
      tell();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    failure ??= 'The answer is incomplete: the connection to the gateway was lost.';
  }
  const totalMs = performance.now() - started;
  if (answer.status >= 400) failure ??= errorOf(parsed(raw)) ?? (raw || 'The answer holds no words.');
  else if (!streamed) {
    const said = parsed(raw);
    text = textOf(said);
    failure ??= errorOf(said);
    if (text !== '') firstMs ??= totalMs;
  } else if (!ended) failure ??= 'The stream ended before the answer was complete.';
  tell(totalMs);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
