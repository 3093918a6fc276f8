import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { currentResponse } from '../../runtime/node-internals.ts';

// Requests on one connection that came before the answer to the first: node:http runs them at once, and keeps their answers in order.

const queues = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Follows a response that waits for earlier ones, and ends it together with its connection. node:http does so itself, but
 * not where it cuts the connection off for a CONNECT: the request would stay in flight for ever. A caller that has more
 * than `most` of them wait is cut off, for they are not bounded by anything else.
 */
export function followQueued(socket: Socket, response: ServerResponse, most: number): void {
  const queue = queues.get(socket) ?? newQueue(socket);
  queue.add(response);
  response.once('close', () => queue.delete(response));
  if (queue.size > most) socket.destroy();
}

function newQueue(socket: Socket): Set<ServerResponse> {
  const queue = new Set<ServerResponse>();
  queues.set(socket, queue);
  socket.once('close', () => dropQueued(socket));
  return queue;
}

/** Ends the responses that wait for earlier ones: they will not be sent. */
export function dropQueued(socket: Socket): void {
  for (const response of queues.get(socket) ?? []) response.destroy();
}

/**
 * Calls `then` once all whole requests on the connection are answered, or it is closed: answers go out in the order of
 * their requests (RFC 9112 §9.3.2). Only the last request can be one that is not whole.
 */
export function afterAnswers(socket: Socket, then: () => void): void {
  const response = currentResponse(socket);
  if (response?.req.complete !== true || socket.destroyed) then();
  else response.once('close', () => afterAnswers(socket, then));
}
