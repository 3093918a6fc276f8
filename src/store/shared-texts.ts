import type { Kind, ResourceOf } from './store.ts';

type Status = NonNullable<ResourceOf[Kind]['status']>;

const texts = new Map<string, string>();
const maxTexts = 10_000;

/**
 * The same status with texts that many statuses repeat (reasons, messages, times) held once: read from files each would
 * have its own, 25 MB of them with 100,000 keys.
 */
export function withSharedTexts<S extends Status>(status: S): S {
  if (status.conditions === undefined) return status;
  const conditions = status.conditions.map((condition) => ({
    ...condition,
    type: shared(condition.type),
    reason: shared(condition.reason),
    message: shared(condition.message),
    lastTransitionTime: shared(condition.lastTransitionTime),
  }));
  return { ...status, conditions };
}

function shared(text: string): string {
  const known = texts.get(text);
  if (known !== undefined) return known;
  if (texts.size < maxTexts) texts.set(text, text);
  return text;
}
