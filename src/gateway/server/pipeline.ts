import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { currentResponse } from '../../runtime/node-internals.ts';

// Pipelined requests: node:http emits them at once, and sends their answers in order. All of them in one turn of the
// event loop took longer than anything else that one caller can do.

const queues = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Calls `start` when the earlier requests on the connection are answered, at most once in a turn of the event loop. If the
 * connection closes before, `start` is not called and the response is destroyed. node:http does that itself, but not if it closes the
 * connection because of a CONNECT: the request would stay in flight indefinitely. A connection with more than `most`
 * waiting responses is closed, because nothing else limits them.
 */
export function startInTurn(socket: Socket, response: ServerResponse, most: number, start: () => void): void {
  const queue = queues.get(socket) ?? newQueue(socket);
  queue.add(response);
  response.once('close', () => queue.delete(response));
  response.once('socket', () =>
    setImmediate(() => {
      if (!response.destroyed) start();
    }),
  );
  if (queue.size > most) socket.destroy();
}

function newQueue(socket: Socket): Set<ServerResponse> {
  const queue = new Set<ServerResponse>();
  queues.set(socket, queue);
  socket.once('close', () => dropQueued(socket));
  return queue;
}

/** Ends the responses that wait for earlier ones; they are not sent. */
export function dropQueued(socket: Socket): void {
  for (const response of queues.get(socket) ?? []) response.destroy();
}

/**
 * Calls `then` when all complete requests on the connection are answered, or it is closed: answers are sent in the order
 * of their requests (RFC 9112 §9.3.2). Only the last request can be incomplete.
 */
export function afterAnswers(socket: Socket, then: () => void): void {
  const response = currentResponse(socket);
  if (response?.req.complete !== true || socket.destroyed) then();
  else response.once('close', () => afterAnswers(socket, then));
}
