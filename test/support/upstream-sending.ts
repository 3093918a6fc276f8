import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Exchange } from './upstream-exchange.ts';
import type { JsonObject } from './upstream-request-body.ts';

/** The text of piece `index` of every standard answer: `w0 `, `w1 `, … */
export function pieceOfText(index: number, prefix = ''): string {
  return index === 0 ? `${prefix}w0 ` : `w${index} `;
}

/** The whole text of a standard answer of `chunks` pieces. */
export function answerText(chunks: number, prefix = ''): string {
  return Array.from({ length: chunks }, (_, index) => pieceOfText(index, prefix)).join('');
}

/** Writes bytes and waits while the caller does not take them; rejects once the connection is gone. */
export async function write(exchange: Exchange, bytes: string | Uint8Array): Promise<void> {
  exchange.signal.throwIfAborted();
  if (!exchange.response.write(bytes)) await once(exchange.response, 'drain', { signal: exchange.signal });
}

/** Waits, or rejects once the connection is gone. */
export async function pause(exchange: Exchange, milliseconds: number): Promise<void> {
  if (milliseconds > 0) await delay(milliseconds, undefined, { signal: exchange.signal });
}

/** Sends one JSON answer with its length. */
export function sendJson(exchange: Exchange, status: number, value: unknown): void {
  const bytes = Buffer.from(JSON.stringify(value));
  exchange.response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': bytes.length,
    ...exchange.answers.headers,
  });
  exchange.response.end(bytes);
}

/** Sends the head of an event stream at once, unless it is out already. */
export function startEvents(exchange: Exchange): void {
  if (exchange.response.headersSent) return;
  exchange.response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    ...exchange.answers.headers,
  });
  exchange.response.flushHeaders();
}

/** Sends one unnamed event whose data is JSON (chat-completions). */
export async function sendData(exchange: Exchange, data: unknown): Promise<void> {
  await write(exchange, `data: ${JSON.stringify(data)}\n\n`);
}

/** Sends one event named by its type, which its data repeats (Responses, Messages). */
export async function sendTyped(exchange: Exchange, type: string, fields: JsonObject = {}): Promise<void> {
  await write(exchange, `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
}
