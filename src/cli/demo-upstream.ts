import { hash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const demoModel = 'demo-echo';
const maxBodyBytes = 8 * 1024 * 1024;
const notice =
  'This is the demo upstream of Model Gateway. There is no model in it: it only echoes. You said: ';

/**
 * Starts a small model server that only echoes, and says so, for a quick start on a machine without one. It answers
 * `GET /v1/models` and `POST /v1/chat/completions`, plain and streamed, on loopback only. Port 0 means any port; throws
 * EADDRINUSE if the port is taken. `folder` is the folder of the manifests that declare it.
 */
export async function startDemoUpstream(
  port: number,
  folder = '',
): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    response.setHeader(folderHeader, markOf(folder));
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Whether another process runs the demo upstream of these manifests on this port. */
export async function isDemoOf(folder: string, port: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(askMs);
    const answer = await fetch(`http://127.0.0.1:${port}/v1/models`, { signal, redirect: 'error' });
    await answer.body?.cancel();
    return answer.headers.get(folderHeader) === markOf(folder);
  } catch {
    return false;
  }
}

const folderHeader = 'x-demo-of';
const askMs = 1_000;

/** Identifies a folder without its name. */
function markOf(folder: string): string {
  return hash('sha256', folder, 'hex').slice(0, 16);
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'GET' && request.url === '/v1/models') {
    return json(response, 200, {
      object: 'list',
      data: [{ id: demoModel, object: 'model', created: 0, owned_by: 'demo' }],
    });
  }
  if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
    return json(response, 404, {
      error: { message: 'The demo upstream knows /v1/models and /v1/chat/completions.' },
    });
  }
  const body = await readJSON(request);
  if (body === undefined) return json(response, 400, { error: { message: 'The body is not JSON.' } });
  const text = notice + lastUserText(body);
  const head = { id: 'chatcmpl-demo', created: Math.floor(Date.now() / 1000), model: demoModel };
  const words = text.split(/(?<=\s)/);
  const usage = {
    prompt_tokens: words.length,
    completion_tokens: words.length,
    total_tokens: 2 * words.length,
  };
  if (body['stream'] !== true) {
    const message = { role: 'assistant', content: text };
    return json(response, 200, {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
    });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (delta: object, finish: string | null): boolean =>
    response.write(
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    );
  for (const [index, content] of words.entries()) {
    if (response.destroyed) return;
    send(index === 0 ? { role: 'assistant', content } : { content }, null);
    await sleep(25);
  }
  send({}, 'stop');
  const options = body['stream_options'] as { include_usage?: unknown } | undefined;
  if (options?.include_usage === true) {
    response.write(
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
    );
  }
  response.end('data: [DONE]\n\n');
}

async function readJSON(request: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function lastUserText(body: Record<string, unknown>): string {
  const messages = Array.isArray(body['messages']) ? (body['messages'] as unknown[]) : [];
  const last = messages.at(-1) as { content?: unknown } | undefined;
  if (typeof last?.content === 'string') return last.content;
  if (!Array.isArray(last?.content)) return '(nothing)';
  return (last.content as { text?: unknown }[])
    .map((part) => (typeof part?.text === 'string' ? part.text : ''))
    .join(' ');
}

function json(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
