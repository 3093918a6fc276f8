import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../errors/errors.ts';
import { errorShapeOf } from '../errors/wire-errors.ts';
import { type GatewayContext, handle } from '../handle.ts';

/** Refuses a request before it has a route, in the shape of the path that it names. */
export function refuseUnrouted(
  context: GatewayContext,
  request: IncomingMessage,
  response: ServerResponse,
  error: GatewayError,
): void {
  void handle(context, 'unknown', errorShapeOf(request.url ?? '/'), request, response, (caller) => {
    caller.answerError(error);
  });
}

/** HTTP/1.1 requires a Host (RFC 9112 §3.2). node:http would refuse the request without saying why. */
export function lacksHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersion === '1.1';
}

/** The errors for requests without a route. */
export const unrouted = {
  badPath: () => new GatewayError('malformed_request', 'The path is not a valid URL.'),
  noHost: () =>
    new GatewayError('malformed_request', 'The request has no Host header; HTTP/1.1 requires one.'),
  expectation: () =>
    new GatewayError(
      'expectation_failed',
      'The Expect header asks for something unknown; send 100-continue or none.',
    ),
};
