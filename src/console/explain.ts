import type { Declarations } from '../cli/edit/declarations.ts';
import type { ExplainRoute } from './route-routes.ts';

export function explainFrom(_declarations: Declarations, _homeNamespace: string): ExplainRoute {
  return async ({ model }) => ({ model, refusal: undefined, notes: [], nodes: [], others: 0 });
}
