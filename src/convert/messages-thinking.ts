import type { Effort } from './dialect.ts';
import type { Fields } from './fields.ts';
import type { MessagesContext } from './messages-context.ts';
import { isEffort, nearestEffort } from './reasoning-effort.ts';
import { invalid, missing } from './request-fields.ts';

/** How thinking is shown, and how thinking of earlier turns is checked: nodes support neither. */
const shown: ReadonlySet<string> = new Set(['display', 'block_binding']);

/**
 * `reasoning_effort` for `thinking` and `output_config.effort` (messages.md). An effort has precedence. A budget without an
 * effort becomes the effort of its range; that is only similar, so the budget counts as lost. `adaptive` without an effort
 * leaves the effort to the model.
 */
export function convertThinking(
  request: Fields,
  config: Fields | undefined,
  context: MessagesContext,
): Effort | undefined {
  const effort = readEffort(config);
  const thinking = request.object('thinking');
  const type = thinking === undefined ? 'adaptive' : thinking.neededText('type');
  thinking?.hints(shown);
  if (type === 'disabled' || type === 'between_tools') {
    if (effort !== undefined) context.dropped.loss('output_config.effort');
    return switchedOff(context);
  }
  if (type !== 'adaptive' && type !== 'enabled')
    throw invalid('thinking.type', "Input should be 'enabled', 'adaptive', 'disabled' or 'between_tools'");
  const budget = type === 'enabled' && thinking !== undefined ? readBudget(thinking, context) : undefined;
  if (effort === undefined)
    return budget === undefined ? undefined : nearestEffort(bucket(budget), context.dialect.reasoningEfforts);
  const taken = nearestEffort(effort, context.dialect.reasoningEfforts);
  if (taken !== effort) context.dropped.loss('output_config.effort');
  return taken;
}

function readEffort(config: Fields | undefined): Effort | undefined {
  const effort = config?.text('effort');
  if (effort === undefined || isEffort(effort)) return effort;
  throw invalid('output_config.effort', "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'");
}

function readBudget(thinking: Fields, context: MessagesContext): number {
  const budget = thinking.number('budget_tokens', { integer: true, least: 1 });
  if (budget === undefined) throw missing('thinking.budget_tokens');
  context.dropped.loss('thinking.budget_tokens');
  return budget;
}

function bucket(budget: number): Effort {
  if (budget < 5_000) return 'low';
  if (budget < 10_000) return 'medium';
  return budget < 24_000 ? 'high' : 'xhigh';
}

/** Most models cannot switch thinking off and refuse the field. */
function switchedOff(context: MessagesContext): Effort | undefined {
  if (context.dialect.reasoningOff) return 'none';
  context.dropped.hint('thinking');
  return undefined;
}
