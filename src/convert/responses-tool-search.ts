import { isObject, type JsonObject, listOf, parseJson } from './json.ts';
import type { ToolNames, ToolOrigin } from './tool-names.ts';

/**
 * What the node is told is a function. Codex finds the tools of its MCP servers this way alone: without the search a
 * model cannot call one of them.
 */
export const searchOrigin: ToolOrigin = { name: 'tool_search', search: true };

/** Whether a tool or an item is of a search for tools that the caller runs; the others run on the vendor's servers. */
export function isClientSearch(owner: JsonObject): boolean {
  return owner['execution'] === 'client';
}

/** The arguments of a search in the history, as a function's. */
export function searchArguments(item: JsonObject): string {
  const value = item['arguments'];
  return JSON.stringify(isObject(value) ? value : {});
}

/** The arguments of a search that a node asks for: an object, whatever the node wrote. */
export function readSearchArguments(text: string): JsonObject {
  const value = parseJson(text);
  return isObject(value) ? value : {};
}

/** What a search has found, by the names that the node knows. The tools have been read before (`readTools`). */
export function foundText(item: JsonObject, names: ToolNames): string {
  const found = listOf(item['tools'])
    .filter(isObject)
    .flatMap((tool) => originsOf(tool));
  const carried = found.filter((origin) => names.has(origin)).map((origin) => names.chatName(origin));
  return carried.length === 0
    ? 'No tools were found.'
    : `These tools can be called now: ${carried.join(', ')}`;
}

function originsOf(tool: JsonObject): readonly ToolOrigin[] {
  const { name } = tool;
  if (typeof name !== 'string') return [];
  if (tool['type'] !== 'namespace') return [{ name }];
  return listOf(tool['tools']).flatMap((member) =>
    isObject(member) && typeof member['name'] === 'string' ? [{ name: member['name'], namespace: name }] : [],
  );
}
