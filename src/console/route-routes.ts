import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { endpoints } from '../routing/caller-format.ts';
import type { Live } from './live.ts';
import { read } from './read.ts';
import type { RouteAnswer } from './shapes.ts';

const asked = z.object({
  model: z.string().min(1).max(512),
  format: z.enum(['chat', 'responses', 'messages', 'completions', 'embeddings', ...endpoints]),
  /** `namespace/name` of an APIKey; empty for any key of the namespace. */
  key: z.string().max(400).default(''),
});
export type RouteAsked = z.output<typeof asked>;

/** Explains where a request would go, from what is declared. Throws DeclarationError. */
export type ExplainRoute = (question: RouteAsked, live: Live) => Promise<RouteAnswer>;

/** Routes about all models: their names, and where a request for one goes. */
export function addRouteRoutes(app: FastifyInstance, live: Live, explain: ExplainRoute): void {
  app.get('/models', async () => {
    const names = new Set<string>();
    for (const { resource } of await live.declared('UpstreamNode')) {
      for (const { name } of resource.status?.models ?? []) names.add(name);
      for (const name of resource.spec.manualModels ?? []) names.add(name);
      for (const { aliases = [] } of resource.spec.models ?? [])
        for (const alias of aliases) names.add(alias);
    }
    return [...names].sort();
  });
  app.get('/route', async (request) => explain(read(asked, request.query), live));
}
