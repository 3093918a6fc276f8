import { answerChat, answerCompletion } from './upstream-chat.ts';
import { askedOf, endpointAnswers } from './upstream-endpoints.ts';
import type { Exchange } from './upstream-exchange.ts';
import { answerCountTokens, answerMessages } from './upstream-messages.ts';
import { type JsonObject, jsonBody, modelOf } from './upstream-request-body.ts';
import { answerResponses } from './upstream-responses.ts';
import { sendJson } from './upstream-sending.ts';

type Answer = (exchange: Exchange, body: JsonObject) => Promise<void> | void;

const posts: Readonly<Record<string, Answer>> = {
  '/chat/completions': answerChat,
  '/completions': answerCompletion,
  '/embeddings': answerEmbeddings,
  '/responses': answerResponses,
  '/messages': answerMessages,
  '/messages/count_tokens': answerCountTokens,
};

/** The path below the version segment: `/v1/models` → `/models`. */
export function pathBelowVersion(path: string): string {
  return path.replace(/^.*?\/v\d+(?=\/)/, '');
}

/** Answers as a well-behaved model server does. */
export async function answerWell(exchange: Exchange): Promise<void> {
  const { method, path } = exchange.request;
  const below = pathBelowVersion(path);
  if (method === 'GET' && below === '/models') {
    listModels(exchange);
    return;
  }
  const endpoint = method === 'POST' ? endpointAnswers[below] : undefined;
  if (endpoint !== undefined) {
    const asked = await askedOf(exchange);
    if (asked === undefined) sendError(exchange, 400, 'the body is neither a JSON object nor a form');
    else await endpoint(exchange, asked);
    return;
  }
  const answer = method === 'POST' ? posts[below] : undefined;
  if (answer === undefined) {
    sendError(exchange, 404, `no such path: ${method} ${path}`);
    return;
  }
  const body = jsonBody(exchange.request);
  if (body === undefined) {
    sendError(exchange, 400, 'the body is not a JSON object');
    return;
  }
  await answer(exchange, body);
}

function listModels(exchange: Exchange): void {
  const { models, modelsStatus } = exchange.answers;
  if (modelsStatus !== 200) {
    sendError(exchange, modelsStatus, `scripted status ${modelsStatus}`);
    return;
  }
  const data = models.map((id) => ({ id, object: 'model', created: 1_750_000_000, owned_by: 'scripted' }));
  sendJson(exchange, 200, { object: 'list', data });
}

function answerEmbeddings(exchange: Exchange, body: JsonObject): void {
  const inputs: unknown[] = Array.isArray(body['input']) ? body['input'] : [body['input']];
  const values = [0.25, -0.5, 0.125];
  const base64 = Buffer.from(new Float32Array(values).buffer).toString('base64');
  // The official SDK asks for base64 when its caller named no encoding.
  const embedding = body['encoding_format'] === 'base64' ? base64 : values;
  sendJson(exchange, 200, {
    object: 'list',
    data: inputs.map((_, index) => ({ object: 'embedding', index, embedding })),
    model: modelOf(body),
    usage: { prompt_tokens: 7, total_tokens: 7 },
  });
}

function sendError(exchange: Exchange, status: number, message: string): void {
  const messages = pathBelowVersion(exchange.request.path).startsWith('/messages');
  const error = { type: 'invalid_request_error', message };
  sendJson(
    exchange,
    status,
    messages ? { type: 'error', error } : { error: { ...error, param: null, code: null } },
  );
}
