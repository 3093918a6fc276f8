/**
 * Why an answer ended. `unsaid`: the node gave no reason, though the answer is over. `failed`: it says that it broke.
 */
export type Finish = 'stop' | 'tools' | 'length' | 'filter' | 'unsaid' | 'failed';

/** A Map, because a node's word may be the name of a member that every object has. */
const words: ReadonlyMap<string, Finish> = new Map([
  ['stop', 'stop'],
  ['tool_calls', 'tools'],
  ['function_call', 'tools'],
  ['tool_use', 'tools'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['max_output_tokens', 'length'],
  ['content_filter', 'filter'],
  ['safety', 'filter'],
  ['sensitive', 'filter'],
  ['refusal', 'filter'],
  ['error', 'failed'],
  ['abort', 'failed'],
  ['aborted', 'failed'],
  ['cancelled', 'failed'],
  ['canceled', 'failed'],
  ['timeout', 'failed'],
  ['failed', 'failed'],
  ['insufficient_system_resource', 'failed'],
]);

/** Reads `finish_reason`. Unknown words (`eos`, `end_turn`) mean an ordinary end unless they name a failure. */
export function readFinish(value: unknown): Finish {
  if (typeof value !== 'string' || value === '') return 'unsaid';
  const word = value.toLowerCase();
  return words.get(word) ?? (/error|fail|abort/.test(word) ? 'failed' : 'stop');
}
