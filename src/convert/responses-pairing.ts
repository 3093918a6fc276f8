import { isObject, type JsonObject, textOf } from './json.ts';
import { invalid, pathOf, requiredString } from './request-fields.ts';
import { isClientSearch } from './responses-tool-search.ts';

/** Whether an item is a call of one of the caller's tools. */
export function isCall(item: JsonObject): boolean {
  const { type } = item;
  if (type === 'tool_search_call') return isClientSearch(item);
  return type === 'function_call' || type === 'custom_tool_call';
}

/** Whether an item is what such a call gave back. */
export function isCallOutput(item: JsonObject): boolean {
  const { type } = item;
  if (type === 'tool_search_output') return isClientSearch(item);
  return type === 'function_call_output' || type === 'custom_tool_call_output';
}

/**
 * The positions of the calls that are answered later. Throws for an output without a call before it, and for a second
 * output of one call: every node would refuse the pair. Ids may repeat (some nodes count from 0 in every answer): an
 * output belongs to the latest call of its id that has none.
 */
export function answeredCalls(items: readonly unknown[]): ReadonlySet<number> {
  const open = new Map<string, number[]>();
  const answered = new Set<number>();
  for (const [index, item] of items.entries()) {
    if (!isObject(item)) continue;
    if (!isCall(item) && !isCallOutput(item)) continue;
    const id = requiredString(item, 'call_id', pathOf('input', index));
    const waiting = open.get(id) ?? [];
    open.set(id, waiting);
    if (isCall(item)) waiting.push(index);
    else answered.add(popCall(waiting, id, textOf(item['type'])));
  }
  return answered;
}

function popCall(waiting: number[], id: string, type: string): number {
  const call = waiting.pop();
  if (call !== undefined) return call;
  const kind = type.replace(/_output$/, '').replaceAll('_', ' ');
  throw invalid('input', `No tool call found for ${kind} output with call_id ${id.slice(0, 80)}.`);
}
