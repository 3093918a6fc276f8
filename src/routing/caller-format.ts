/** What a caller sends, by the path it calls. */
export type CallerFormat = 'chat' | 'completions' | 'embeddings' | 'responses' | 'messages' | 'count_tokens';
