import type { Fields } from './fields.ts';
import { invalid } from './request-fields.ts';
import { isClientSearch } from './responses-tool-search.ts';

/** Whether an item of this type is a call of one of the caller's tools. */
export function isCall(type: string | undefined, item: Fields): boolean {
  if (type === 'tool_search_call') return isClientSearch(item);
  return type === 'function_call' || type === 'custom_tool_call';
}

/** Whether an item of this type is what such a call gave back. */
export function isCallOutput(type: string | undefined, item: Fields): boolean {
  if (type === 'tool_search_output') return isClientSearch(item);
  return type === 'function_call_output' || type === 'custom_tool_call_output';
}

/**
 * The positions of the calls that are answered later. Throws for an output without a call before it, and for a second
 * output of one call: every node would refuse the pair. Ids may repeat (some nodes count from 0 in every answer): an
 * output belongs to the latest call of its id that has none.
 */
export function answeredCalls(items: readonly Fields[]): ReadonlySet<number> {
  const open = new Map<string, number[]>();
  const answered = new Set<number>();
  for (const [index, item] of items.entries()) {
    const type = item.text('type');
    const calls = isCall(type, item);
    if (!calls && !isCallOutput(type, item)) continue;
    const id = item.neededText('call_id');
    const waiting = open.get(id) ?? [];
    open.set(id, waiting);
    if (calls) waiting.push(index);
    else answered.add(popCall(waiting, id, type ?? ''));
  }
  return answered;
}

function popCall(waiting: number[], id: string, type: string): number {
  const call = waiting.pop();
  if (call !== undefined) return call;
  const kind = type.replace(/_output$/, '').replaceAll('_', ' ');
  throw invalid('input', `No tool call found for ${kind} output with call_id ${id.slice(0, 80)}.`);
}
