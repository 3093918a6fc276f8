/**
 * The endpoints that a node is asked at the same path, by a JSON or a multipart body, whatever it answers with: nothing is
 * converted. Each is the path after `/v1/` and after the node's base URL.
 */
export const endpoints = [
  'rerank',
  'moderations',
  'images/generations',
  'images/edits',
  'audio/speech',
  'audio/transcriptions',
  'audio/translations',
] as const;
export type Endpoint = (typeof endpoints)[number];

/** What a caller sends, by the path it calls. */
export type CallerFormat =
  | 'chat'
  | 'completions'
  | 'embeddings'
  | 'responses'
  | 'messages'
  | 'count_tokens'
  | Endpoint;

const known: ReadonlySet<CallerFormat> = new Set(endpoints);

/** Whether the body may be multipart, and the answer anything: JSON, text, audio, or events that the caller need not have asked for. */
export function isEndpoint(format: CallerFormat): format is Endpoint {
  return known.has(format);
}
