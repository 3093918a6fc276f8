import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { type Entrance, oneHeader } from './entrance.ts';
import { type PageFile, readPageFiles } from './page-files.ts';
import { signedInPage, signedOutPage, usedAddressPage } from './signed-out.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on the page's own files: the page "signed out" needs the style. They hold nothing about the installation. */
    withoutSession?: true;
  }
}

/**
 * The page: its files, and at every other address its document, for a browser that is signed in or that opens an address
 * with a token. `onSignIn` is called when a browser has signed in with an address.
 */
export function consolePages(entrance: Entrance, onSignIn: () => void): FastifyPluginAsync {
  // Read at the first request: most processes that offer the console never get one.
  let reading: ReturnType<typeof readPageFiles> | undefined;
  const answerFile = async (path: string, request: FastifyRequest, reply: FastifyReply) => {
    reading ??= readPageFiles();
    const file = (await reading).get(path);
    return file === undefined
      ? reply.code(404).type('text/plain').send('not found\n')
      : sendFile(file, request, reply);
  };
  return async (app) => {
    app.addHook('onRequest', async (request, reply) => {
      if (request.routeOptions.config.withoutSession === true) return;
      const { token } = request.query as { token?: unknown };
      // Link previews send HEAD, and it must not use up the address.
      const cookie =
        request.method === 'GET' && typeof token === 'string' ? entrance.redeem(token) : undefined;
      if (cookie !== undefined) {
        onSignIn();
        return html(reply.header('set-cookie', cookie), signedInPage);
      }
      if (!entrance.holds(request, true)) {
        return html(reply.code(401), token === undefined ? signedOutPage : usedAddressPage);
      }
      if (token !== undefined) return html(reply, signedInPage);
    });
    const method = ['GET', 'HEAD'];
    app.route({
      method,
      url: '/page/*',
      config: { withoutSession: true },
      handler: (request, reply) => {
        const { '*': name } = request.params as { '*': string };
        return answerFile(`/page/${name}`, request, reply);
      },
    });
    app.route({ method, url: '/*', handler: (request, reply) => answerFile('/', request, reply) });
  };
}

function html(reply: FastifyReply, page: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').header('cache-control', 'no-store').send(page);
}

function sendFile(file: PageFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply
    .header('etag', file.etag)
    .header('cache-control', 'no-cache')
    .header('vary', 'accept-encoding')
    .type(file.type);
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  const compresses = oneHeader(request.headers['accept-encoding'])?.includes('br') ?? false;
  return compresses ? reply.header('content-encoding', 'br').send(file.compressed) : reply.send(file.body);
}
