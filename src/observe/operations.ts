/** The name of a route's operation in OpenTelemetry's conventions for generative AI. */
const operations: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'chat',
  '/v1/completions': 'text_completion',
  '/v1/embeddings': 'embeddings',
  '/v1/responses': 'chat',
  '/v1/messages': 'chat',
  '/v1/messages/count_tokens': 'count_tokens',
  '/v1/rerank': 'rerank',
  '/v1/moderations': 'moderation',
  '/v1/images/generations': 'image_generation',
  '/v1/images/edits': 'image_edit',
  '/v1/audio/speech': 'speech',
  '/v1/audio/transcriptions': 'transcription',
  '/v1/audio/translations': 'translation',
};

/** Undefined if the route calls no model. */
export function operationOf(route: string): string | undefined {
  return Object.hasOwn(operations, route) ? operations[route] : undefined;
}
