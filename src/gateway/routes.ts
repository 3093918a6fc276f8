import type { RequestListener } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type CallerFormat, endpoints } from '../routing/caller-format.ts';
import type { KeyEntry } from '../store/store.ts';
import { authenticate } from './admission/authenticate.ts';
import { checkJsonType } from './admission/content-type.ts';
import { jsonText, scanBody } from './admission/inspect.ts';
import type { Caller } from './answer/caller.ts';
import { GatewayError, shorten } from './errors/errors.ts';
import { errorShapeOf } from './errors/wire-errors.ts';
import { type Answer, answerModelCall, type GatewayContext, handle, readRequest, shareOf } from './handle.ts';
import type { KeysApi } from './keys/keys-api.ts';
import { describeModel, listModels } from './models.ts';
import { lacksHost, refuseUnrouted, unrouted } from './server/unrouted.ts';

const modelCalls: readonly (readonly [path: string, format: CallerFormat])[] = [
  ['/v1/chat/completions', 'chat'],
  ['/v1/completions', 'completions'],
  ['/v1/embeddings', 'embeddings'],
  ['/v1/responses', 'responses'],
  ['/v1/messages', 'messages'],
  ['/v1/messages/count_tokens', 'count_tokens'],
  ...endpoints.map((endpoint) => [`/v1/${endpoint}`, endpoint] as const),
];

/** Route labels of the metrics: every declared path, and one label for all other paths. */
export const routeNames: readonly string[] = [
  ...modelCalls.map(([path]) => path),
  '/v1/models',
  '/v1/models/*',
  '/v1/keys',
  '/v1/keys/:id',
  '/',
  'unknown',
];

/** Error texts name the paths that exist. */
const paths = [...modelCalls.map(([path]) => path), '/v1/models and /v1/keys'].join(', ');

/** The methods of each path, for 405 answers. */
const methodsOf: readonly (readonly [path: RegExp, methods: string])[] = [
  ...modelCalls.map(([path]) => [new RegExp(`^${path}/?$`), 'POST'] as const),
  [/^\/v1\/models(?:\/.*)?$/, 'GET'],
  [/^\/v1\/keys\/?$/, 'GET, POST'],
  [/^\/v1\/keys\/[^/]+\/?$/, 'GET, DELETE'],
];

/** A body of `/v1/keys` may name 1,000 models of 253 characters. */
const longestKeyBody = 1024 * 1024;
const deepestKeyBody = 16;

/** Longest time that the store may take for a key. */
const storeTimeoutMs = 15_000;

/** Declares every path of the HTTP API. Throws nothing. */
export function declareRoutes(app: FastifyInstance, context: GatewayContext, keys: KeysApi): void {
  const declare = (method: Method, path: string, answerFor: (request: FastifyRequest) => Answer) => {
    const shape = errorShapeOf(path);
    app.route({
      method,
      url: path,
      exposeHeadRoute: false,
      // fastify calls onRequest before it reads the body, so the key is checked before a byte of the body is read. The
      // answer is written to the raw response: fastify's reply would cost more than the rest of a request.
      onRequest: (request: FastifyRequest, reply: FastifyReply) => {
        reply.hijack();
        handle(context, path, shape, request.raw, reply.raw, answerFor(request));
      },
      handler: unreachable,
    });
  };
  const { view, homeNamespace, now } = context;
  // Each route declares which kind of key it needs; its handler runs only after that check.
  const declareFor = (
    kind: 'APIKey' | 'MasterKey',
    method: Method,
    path: string,
    answerTo: (key: KeyEntry, caller: Caller, request: FastifyRequest) => Promise<void> | void,
  ) =>
    declare(
      method,
      path,
      (request) => (caller) =>
        answerTo(authenticate(view, caller.request.headers, kind, now()), caller, request),
    );

  // These check the API key themselves, because the shortcut before fastify uses the same handlers.
  for (const [path, answer] of modelAnswers(context)) declare('POST', path, () => answer);
  declareFor('APIKey', 'GET', '/v1/models', async (key, caller, { query }) => {
    answer(caller, 200, await listModels(view, key, homeNamespace, query as Query));
  });
  declareFor('APIKey', 'GET', '/v1/models/*', (key, caller, { params }) => {
    answer(caller, 200, describeModel(view, key, homeNamespace, (params as Params)['*'] ?? ''));
  });
  declareFor('MasterKey', 'POST', '/v1/keys', async (master, caller) => {
    checkJsonType(caller.request.headers['content-type']);
    const body = await readRequest(context, caller, shareOf(context, master), longestKeyBody);
    try {
      const signal = AbortSignal.timeout(storeTimeoutMs);
      answer(caller, 201, await keys.create(master, parseNewKey(body.bytes), signal));
    } finally {
      body.release();
    }
  });
  declareFor('MasterKey', 'GET', '/v1/keys', (master, caller, { query }) => {
    answer(caller, 200, keys.list(master, query as Query));
  });
  declareFor('MasterKey', 'GET', '/v1/keys/:id', (master, caller, { params }) => {
    answer(caller, 200, keys.get(master, (params as Params)['id'] ?? ''));
  });
  declareFor('MasterKey', 'DELETE', '/v1/keys/:id', async (master, caller, { params }) => {
    const id = (params as Params)['id'] ?? '';
    answer(caller, 200, await keys.remove(master, id, AbortSignal.timeout(storeTimeoutMs)));
  });
  // Claude Code sends this to a base URL before its first call.
  declareHead(app, context);
  declareUnknown(app, context);
}

/**
 * The listener for every request. It answers calls of the model APIs itself: fastify's routing, request and reply would
 * cost as much as the whole authentication. Other spellings of these paths (a slash at the end, the absolute form) go
 * through fastify.
 */
export function answersOf(app: FastifyInstance, context: GatewayContext): RequestListener {
  const calls = new Map(
    modelAnswers(context).map(([path, answer]) => [path, { path, shape: errorShapeOf(path), answer }]),
  );
  return (request, response) => {
    if (lacksHost(request)) return refuseUnrouted(context, request, response, unrouted.noHost());
    const call = request.method === 'POST' ? calls.get(pathOf(request.url)) : undefined;
    if (call === undefined) app.routing(request, response);
    else handle(context, call.path, call.shape, request, response, call.answer);
  };
}

/** Claude Code calls `/v1/messages?beta=true`. */
function pathOf(url = ''): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

function modelAnswers(context: GatewayContext): [path: string, answer: Answer][] {
  return modelCalls.map(([path, format]) => [
    path,
    (caller, progress) => answerModelCall(context, format, caller, progress),
  ]);
}

type Method = 'GET' | 'POST' | 'DELETE';
type Query = Readonly<Record<string, unknown>>;
type Params = Readonly<Record<string, string | undefined>>;

function declareHead(app: FastifyInstance, context: GatewayContext): void {
  app.route({
    method: 'HEAD',
    url: '/',
    onRequest: (request: FastifyRequest, reply: FastifyReply) => {
      reply.hijack();
      handle(context, '/', 'openai', request.raw, reply.raw, (caller) => {
        caller.begin(200, []);
        caller.end();
      });
    },
    handler: unreachable,
  });
}

function declareUnknown(app: FastifyInstance, context: GatewayContext): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done();
    const path = request.raw.url?.split('?', 1)[0] ?? '/';
    reply.hijack();
    handle(context, 'unknown', errorShapeOf(path), request.raw, reply.raw, (caller) => {
      const methods = methodsOf.find(([pattern]) => pattern.test(path))?.[1];
      const shown = shorten(path);
      if (methods === undefined) {
        return caller.answerError(
          new GatewayError('unknown_path', `There is no path ${shown} here. The paths are ${paths}.`),
        );
      }
      const error = new GatewayError(
        'method_not_allowed',
        `${shown} takes ${methods}, not ${request.method}.`,
      );
      caller.answerError(error, ['allow', methods]);
    });
  });
}

function unreachable(): never {
  throw new Error('a hijacked request reached its handler');
}

function answer(caller: Caller, status: number, body: unknown): void {
  if (!caller.gone) caller.answerJson(status, JSON.stringify(body));
}

/** Parses a body of `/v1/keys`, and refuses repeated members: JSON.parse would use the last one, which may restrict nothing. */
function parseNewKey(body: Buffer): unknown {
  const seen = new Set<string>();
  scanBody(body, deepestKeyBody, (start, end) => {
    const name = jsonText(body, start, end).slice(0, 64);
    if (seen.has(name))
      throw new GatewayError('invalid_value', `The body has '${name}' twice; remove one.`, { param: name });
    seen.add(name);
  });
  return JSON.parse(body.toString('utf8'));
}
