/** The name of a route's operation in OpenTelemetry's conventions for generative AI. */
const operations: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'chat',
  '/v1/completions': 'text_completion',
  '/v1/embeddings': 'embeddings',
  '/v1/responses': 'chat',
  '/v1/messages': 'chat',
  '/v1/messages/count_tokens': 'count_tokens',
};

/** Undefined if the route calls no model. */
export function operationOf(route: string): string | undefined {
  return Object.hasOwn(operations, route) ? operations[route] : undefined;
}
