import type { Effort } from './dialect.ts';
import type { JsonObject } from './json.ts';
import type { MessagesContext } from './messages-context.ts';
import { isEffort, nearestEffort } from './reasoning-effort.ts';
import {
  invalid,
  missing,
  optionalNumber,
  optionalObject,
  optionalString,
  requiredString,
} from './request-fields.ts';

/**
 * `reasoning_effort` for `thinking` and `output_config.effort` (messages.md). A budget becomes the effort
 * of its bucket, which is a convention and no equal, so it counts as lost; adaptive without effort leaves it to the model.
 */
export function convertThinking(body: JsonObject, context: MessagesContext): Effort | undefined {
  const effort = readEffort(body);
  const thinking = optionalObject(body, 'thinking', '');
  const type = thinking === undefined ? 'adaptive' : requiredString(thinking, 'type', 'thinking');
  if (thinking !== undefined && type === 'enabled') return ofBudget(thinking, context);
  if (type === 'disabled' || type === 'between_tools') return switchedOff(context);
  if (type !== 'adaptive')
    throw invalid('thinking.type', "Input should be 'enabled', 'adaptive', 'disabled' or 'between_tools'");
  if (effort === undefined) return undefined;
  const taken = nearestEffort(effort, context.dialect.reasoningEfforts);
  if (taken !== effort) context.dropped.loss('output_config.effort');
  return taken;
}

function readEffort(body: JsonObject): Effort | undefined {
  const config = optionalObject(body, 'output_config', '');
  const effort = config === undefined ? undefined : optionalString(config, 'effort', 'output_config');
  if (effort === undefined || isEffort(effort)) return effort;
  throw invalid('output_config.effort', "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'");
}

function ofBudget(thinking: JsonObject, context: MessagesContext): Effort | undefined {
  const budget = optionalNumber(thinking, 'budget_tokens', 'thinking', { integer: true, least: 1 });
  if (budget === undefined) throw missing('thinking.budget_tokens');
  context.dropped.loss('thinking.budget_tokens');
  return nearestEffort(bucket(budget), context.dialect.reasoningEfforts);
}

function bucket(budget: number): Effort {
  if (budget < 5_000) return 'low';
  if (budget < 10_000) return 'medium';
  return budget < 24_000 ? 'high' : 'xhigh';
}

/** Most models have no such switch and refuse to be told. */
function switchedOff(context: MessagesContext): Effort | undefined {
  if (context.dialect.reasoningOff) return 'none';
  context.dropped.hint('thinking');
  return undefined;
}
