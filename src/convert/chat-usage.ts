import { isObject, type JsonObject, objectOf } from './json.ts';

/** Token counts of one answer. Undefined: the node did not say. */
export interface ChatUsage {
  /** All input, cached included. */
  readonly prompt: number;
  readonly cacheRead: number | undefined;
  readonly cacheWrite: number | undefined;
  /** All output, reasoning included. */
  readonly completion: number;
  readonly reasoning: number | undefined;
}

const noFields: JsonObject = {};

/** The usage of an answer that reports none. */
export const noUsage: ChatUsage = {
  prompt: 0,
  cacheRead: undefined,
  cacheWrite: undefined,
  completion: 0,
  reasoning: undefined,
};

/** The usage of a reply or a chunk: in `usage`, in `x_groq.usage`, or in the choice. */
export function findUsage(body: JsonObject, choice: JsonObject = noFields): JsonObject | undefined {
  // Runs for each chunk; most have no usage.
  const { usage, x_groq: groq } = body;
  if (isObject(usage)) return usage;
  const other = isObject(groq) && isObject(groq['usage']) ? groq['usage'] : choice['usage'];
  return isObject(other) ? other : undefined;
}

/** Reads usage. Some nodes do not include reasoning in `completion_tokens`; the total shows it. */
export function readUsage(usage: JsonObject): ChatUsage {
  const prompt = count(usage['prompt_tokens']) ?? 0;
  const completion = count(usage['completion_tokens']) ?? 0;
  const total = count(usage['total_tokens']) ?? 0;
  const promptDetails = objectOf(usage['prompt_tokens_details']);
  return {
    prompt,
    cacheRead:
      count(promptDetails['cached_tokens']) ??
      count(usage['prompt_cache_hit_tokens']) ??
      count(usage['cache_read_input_tokens']),
    cacheWrite: count(promptDetails['cache_write_tokens']) ?? count(usage['cache_creation_input_tokens']),
    completion: Math.max(completion, total - prompt),
    reasoning: count(objectOf(usage['completion_tokens_details'])['reasoning_tokens']),
  };
}

function count(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return Math.min(Math.max(0, Math.round(value)), Number.MAX_SAFE_INTEGER);
}
