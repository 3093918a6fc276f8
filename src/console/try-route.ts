import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { request as ask, type Dispatcher } from 'undici';
import { z } from 'zod';
import { certificateProblem } from './gateway-connections.ts';
import { read } from './read.ts';
import { refuse } from './refuse.ts';

const tried = z.object({
  path: z.enum(['chat/completions', 'completions', 'responses', 'messages']),
  key: z
    .string()
    .min(1)
    .max(512)
    .refine((key) => /^[\x21-\x7e]+$/.test(key), {
      message: 'must be visible ASCII',
      params: { remedy: 'paste the key again' },
    }),
  body: z.record(z.string(), z.unknown()),
});
/** Headers of the gateway's answer that the page shows. */
const shownHeaders = [
  'x-model-gateway-node',
  'x-model-gateway-model',
  'x-model-gateway-attempts',
  'x-model-gateway-conversion',
  'x-model-gateway-dropped',
  'x-request-id',
];
const timeoutMs = 900_000;
export const noGateway = 'The address of the gateway is not known. Start the console with --gateway-url URL.';

/** The gateway's address for a request, its name and why it may fail. Throws DeclarationError if there is none. */
export type Reach = (signal: AbortSignal) => Promise<{
  readonly baseURL: string;
  readonly shown: string;
  readonly dispatcher: Dispatcher;
  readonly why: () => string | undefined;
}>;

/**
 * Sends a request of the page to the gateway, as any caller would, and streams the answer back. The key is passed on and not
 * stored. The answer is sent as bytes, with its type in a separate header, so that no browser takes the text of a model for
 * a document.
 */
export function addTryRoute(app: FastifyInstance, reach: Reach | undefined): void {
  app.post('/try', { config: { changesNothing: true } }, async (incoming, reply) => {
    const { path, key, body } = read(tried, incoming.body);
    if (reach === undefined) return refuse(reply, 503, { reason: 'Unavailable', message: noGateway });
    const gone = new AbortController();
    reply.raw.on('close', () => gone.abort());
    const { baseURL, shown, dispatcher, why } = await reach(gone.signal);
    let refused: unknown;
    const answer = await ask(`${baseURL}/${path}`, {
      dispatcher,
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify(body),
      signal: AbortSignal.any([gone.signal, AbortSignal.timeout(timeoutMs)]),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    }).catch((error: unknown) => {
      refused = error;
    });
    if (answer === undefined) {
      const reason = certificateProblem(refused) ?? why();
      return refuse(reply, 502, {
        reason: 'Unavailable',
        message: `The gateway at ${shown} cannot be reached${reason === undefined ? '. Does it run?' : `: ${reason.replace(/\.$/, '')}.`}`,
      });
    }
    reply.code(answer.statusCode).type('application/octet-stream');
    reply.header('x-answer-type', String(answer.headers['content-type'] ?? ''));
    for (const name of shownHeaders) {
      const value: unknown = Object.hasOwn(answer.headers, name) ? answer.headers[name] : undefined;
      if (typeof value === 'string') reply.header(name, value);
    }
    return reply.send(Readable.from(answer.body));
  });
}
