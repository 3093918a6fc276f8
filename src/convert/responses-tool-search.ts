import type { Fields } from './fields.ts';
import { isObject, type JsonObject, parseJsonAsWritten } from './json.ts';
import type { ToolOrigin } from './tool-names.ts';

/**
 * The node gets a function. Codex finds the tools of its MCP servers only by this search: without it a model cannot call
 * them.
 */
export const searchOrigin: ToolOrigin = { name: 'tool_search', search: true };

/** Whether a tool or an item is of a search for tools that the caller runs; the others run on the vendor's servers. */
export function isClientSearch(owner: Fields): boolean {
  return owner.text('execution') === 'client';
}

/** The arguments of a search in the history, as a function's. */
export function searchArguments(item: Fields): string {
  if (item.kind('arguments') === 'text') return item.neededText('arguments');
  return JSON.stringify(item.whole('arguments') ?? {});
}

/** The arguments of a search that a node asks for: an object, whatever the node wrote. */
export function readSearchArguments(text: string): JsonObject {
  const value = parseJsonAsWritten(text);
  return isObject(value) ? value : {};
}

/** What a search has found, by the names that the node knows. */
export function foundText(names: readonly string[]): string {
  return names.length === 0 ? 'No tools were found.' : `These tools can be called now: ${names.join(', ')}`;
}
