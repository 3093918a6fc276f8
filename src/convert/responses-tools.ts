import type { ChatTool } from './chat-request.ts';
import { isObject, type JsonObject, listOf } from './json.ts';
import { limits } from './limits.ts';
import {
  asObject,
  checkNesting,
  invalid,
  missing,
  optionalBoolean,
  optionalList,
  optionalObject,
  optionalString,
  pathOf,
  requiredString,
} from './request-fields.ts';
import type { ResponsesContext } from './responses-state.ts';
import { isClientSearch, searchOrigin } from './responses-tool-search.ts';
import type { ToolNames, ToolOrigin } from './tool-names.ts';
import { noteUnread } from './unread-fields.ts';

/** A tool that the node is told of. */
export interface CarriedTool {
  readonly origin: ToolOrigin;
  readonly chat: ChatTool;
}

/** The declared tools: those that chat-completions can say, and whether there were any others. */
export interface DeclaredTools {
  readonly carried: readonly CarriedTool[];
  readonly hosted: boolean;
}

const known = {
  read: new Set(['type', 'name', 'description', 'parameters', 'strict', 'format', 'tools', 'execution']),
  hints: new Set(['defer_loading', 'allowed_callers', 'output_schema', 'cache_control']),
};

/** Where a tool stands in the request. */
interface Place {
  readonly at: string;
  readonly namespace?: string;
}

/**
 * Reads `tools` (responses.md): functions, free-text tools as functions of one string, members of
 * namespaces as `namespace__member`, and the tools that the caller's own search has found since. Tools that OpenAI's
 * servers run are dropped and named. Declares every name.
 */
export function readTools(body: JsonObject, context: ResponsesContext): DeclaredTools {
  const read = readList(body, '', context);
  const carried = read.flat();
  const found = foundTools(body, context);
  if (found.length > 0) addUnknown(carried, found);
  // A namespace may hold as many members as a list of tools: together they stay within the same bound.
  if (carried.length > limits.tools) throw invalid('tools', `At most ${limits.tools} tools may be declared`);
  return { carried, hosted: read.some((tools) => tools.length === 0) };
}

function addUnknown(carried: CarriedTool[], found: readonly CarriedTool[]): void {
  const known = new Set(carried.map(({ chat }) => chat.function.name));
  for (const tool of found) {
    if (known.has(tool.chat.function.name)) continue;
    known.add(tool.chat.function.name);
    carried.push(tool);
  }
}

/** For each entry of a list of tools those that it brings. */
function readList(
  owner: JsonObject,
  at: string,
  context: ResponsesContext,
): readonly (readonly CarriedTool[])[] {
  const list = optionalList(owner, 'tools', at, limits.tools) ?? [];
  return list.map((item, index) => {
    const toolAt = pathOf(pathOf(at, 'tools'), index);
    const tool = asObject(item, toolAt);
    return requiredString(tool, 'type', toolAt) === 'namespace'
      ? readNamespace(tool, toolAt, context)
      : readTool(tool, { at: toolAt }, context);
  });
}

/** They stand in the history alone. */
function foundTools(body: JsonObject, context: ResponsesContext): readonly CarriedTool[] {
  const found: CarriedTool[] = [];
  for (const [index, item] of listOf(body['input']).entries()) {
    if (!isObject(item) || item['type'] !== 'tool_search_output' || !isClientSearch(item)) continue;
    for (const tool of readList(item, pathOf('input', index), context).flat()) found.push(tool);
  }
  return found;
}

function readNamespace(tool: JsonObject, at: string, context: ResponsesContext): readonly CarriedTool[] {
  const namespace = readName(tool, at);
  // Chat-completions has no place for it; the members describe themselves.
  if (optionalString(tool, 'description', at) !== undefined) context.dropped.hint(pathOf(at, 'description'));
  const members = optionalList(tool, 'tools', at, limits.tools);
  if (members === undefined) throw missing(pathOf(at, 'tools'));
  return members.flatMap((item, index) => {
    const place = { at: pathOf(pathOf(at, 'tools'), index), namespace };
    return readTool(asObject(item, place.at), place, context);
  });
}

function readTool(tool: JsonObject, place: Place, context: ResponsesContext): readonly CarriedTool[] {
  const type = requiredString(tool, 'type', place.at);
  const searches = type === 'tool_search' && isClientSearch(tool) && place.namespace === undefined;
  if (type === 'function' || type === 'custom' || searches)
    noteUnread(tool, known, context.dropped, place.at);
  if (type === 'function') return [readFunction(tool, place, context)];
  if (type === 'custom') return [readCustom(tool, place, context)];
  if (searches) return [carry(searchOrigin, schemaOf(tool, place.at), context.names)];
  context.dropped.loss(place.at);
  return [];
}

function readFunction(tool: JsonObject, place: Place, context: ResponsesContext): CarriedTool {
  const origin = originOf(tool, place);
  // Responses takes an absent `strict` for true, chat-completions for false: switched on it would refuse most schemas.
  const strict = optionalBoolean(tool, 'strict', place.at) === true;
  return carry(origin, { ...schemaOf(tool, place.at), ...(strict ? { strict } : {}) }, context.names);
}

function schemaOf(tool: JsonObject, at: string): Omit<ChatTool['function'], 'name'> {
  const parameters = optionalObject(tool, 'parameters', at);
  checkNesting(parameters, pathOf(at, 'parameters'), limits.nesting);
  return { ...described(tool, at), parameters: parameters ?? { type: 'object', properties: {} } };
}

function readCustom(tool: JsonObject, place: Place, context: ResponsesContext): CarriedTool {
  const origin = { ...originOf(tool, place), custom: true };
  const parameters = {
    type: 'object',
    properties: { input: { type: 'string', description: inputDescription(tool, place.at, context) } },
    required: ['input'],
    additionalProperties: false,
  };
  return carry(origin, { ...described(tool, place.at), parameters }, context.names);
}

/** A grammar cannot be enforced; the model is told of it. */
function inputDescription(tool: JsonObject, at: string, context: ResponsesContext): string {
  const format = optionalObject(tool, 'format', at);
  const path = pathOf(at, 'format');
  if (format === undefined || requiredString(format, 'type', path) === 'text')
    return 'The input, as plain text.';
  context.dropped.loss(path);
  const syntax = optionalString(format, 'syntax', path) ?? 'grammar';
  const definition = optionalString(format, 'definition', path) ?? '';
  return `The input, as plain text that follows this ${syntax.slice(0, 40)} grammar:\n${definition}`;
}

function carry(origin: ToolOrigin, rest: Omit<ChatTool['function'], 'name'>, names: ToolNames): CarriedTool {
  const name = names.chatName(origin);
  return { origin, chat: { type: 'function', function: { name, ...rest } } };
}

function described(tool: JsonObject, at: string): { readonly description?: string } {
  const description = optionalString(tool, 'description', at);
  return description === undefined ? {} : { description };
}

function originOf(tool: JsonObject, { at, namespace }: Place): ToolOrigin {
  const name = readName(tool, at);
  return namespace === undefined ? { name } : { name, namespace };
}

function readName(tool: JsonObject, at: string): string {
  const name = requiredString(tool, 'name', at);
  if (name === '') throw invalid(pathOf(at, 'name'), 'A tool needs a name of at least 1 character');
  return name;
}
