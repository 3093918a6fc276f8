import type { FastifyReply } from 'fastify';
import type { Refused } from './shapes.ts';

/** Answers with what went wrong. */
export function refuse(
  reply: FastifyReply,
  status: number,
  { reason, message, causes = [] }: Omit<Refused, 'causes'> & { readonly causes?: Refused['causes'] },
): FastifyReply {
  const error: Refused = { reason, message, causes };
  return reply.code(status).send({ error });
}
