import type { ChatTool } from './chat-request.ts';
import type { Fields } from './fields.ts';
import { limits } from './limits.ts';
import { invalid, missing } from './request-fields.ts';
import type { ResponsesContext } from './responses-state.ts';
import { isClientSearch, searchOrigin } from './responses-tool-search.ts';
import type { ToolNames, ToolOrigin } from './tool-names.ts';
import { isUnreadText, type UnreadText } from './unread-text.ts';

/** A tool that is sent to the node. */
export interface CarriedTool {
  readonly origin: ToolOrigin;
  readonly chat: ChatTool;
}

/** The declared tools: those that chat-completions can say, and whether there were any others. */
export interface DeclaredTools {
  readonly carried: readonly CarriedTool[];
  readonly hosted: boolean;
  readonly found: FoundTools;
}

/** What the caller's own searches have found, by the item that says so: names of the functions. */
export type FoundTools = ReadonlyMap<Fields, readonly string[]>;

/** Every tool is offered from the start. */
const marks: ReadonlySet<string> = new Set(['defer_loading', 'cache_control']);

/**
 * Reads `tools` (responses.md): functions, free-text tools as functions of one string, members of
 * namespaces as `namespace__member`, and the tools that the caller's own search has found since. Tools that OpenAI's
 * servers run are dropped and named. Declares every name.
 */
export function readTools(
  request: Fields,
  input: UnreadText | readonly Fields[] | undefined,
  context: ResponsesContext,
): DeclaredTools {
  const read = readList(request, context);
  const carried = read.flat();
  const found = new Map<Fields, readonly string[]>();
  for (const item of isUnreadText(input) ? [] : (input ?? [])) {
    if (item.text('type') !== 'tool_search_output' || !isClientSearch(item)) continue;
    const tools = readList(item, context).flat();
    found.set(
      item,
      tools.map(({ chat }) => chat.function.name),
    );
    addUnknown(carried, tools);
  }
  // A namespace may hold as many members as a list of tools: together they stay within the same bound.
  if (carried.length > limits.tools) throw invalid('tools', `At most ${limits.tools} tools may be declared`);
  return { carried, hosted: read.some((tools) => tools.length === 0), found };
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
function readList(owner: Fields, context: ResponsesContext): readonly (readonly CarriedTool[])[] {
  const list = owner.objects('tools', limits.tools) ?? [];
  return list.map((tool) =>
    tool.neededText('type') === 'namespace' ? readNamespace(tool, context) : readTool(tool, context),
  );
}

function readNamespace(tool: Fields, context: ResponsesContext): readonly CarriedTool[] {
  const namespace = readName(tool);
  // Chat-completions has no place for it; the members describe themselves.
  tool.hints(namespaceMarks);
  const members = tool.objects('tools', limits.tools);
  if (members === undefined) throw missing(tool.path('tools'));
  return members.flatMap((member) => readTool(member, context, namespace));
}

const namespaceMarks: ReadonlySet<string> = new Set(['description']);

function readTool(tool: Fields, context: ResponsesContext, namespace?: string): readonly CarriedTool[] {
  const type = tool.neededText('type');
  tool.hints(marks);
  if (type === 'function') return [readFunction(tool, context, namespace)];
  if (type === 'custom') return [readCustom(tool, context, namespace)];
  if (type === 'tool_search' && isClientSearch(tool) && namespace === undefined)
    return [carry(searchOrigin, schemaOf(tool), context.names)];
  tool.dropWhole('loss');
  return [];
}

function readFunction(tool: Fields, context: ResponsesContext, namespace: string | undefined): CarriedTool {
  const origin = originOf(tool, namespace);
  readCallers(tool, context);
  // An absent `strict` means true in Responses and false in chat-completions. Sent as true, nodes would refuse most schemas.
  const strict = tool.flag('strict') === true;
  return carry(origin, { ...schemaOf(tool), ...(strict ? { strict } : {}) }, context.names);
}

/** The model itself calls every tool. */
function readCallers(tool: Fields, { dropped }: ResponsesContext): void {
  if (tool.texts('allowed_callers', limits.tools)?.some((caller) => caller !== 'direct') === true)
    dropped.loss(tool.path('allowed_callers'));
}

function schemaOf(tool: Fields): Omit<ChatTool['function'], 'name'> {
  return { ...described(tool), parameters: tool.whole('parameters') ?? { type: 'object', properties: {} } };
}

function readCustom(tool: Fields, context: ResponsesContext, namespace: string | undefined): CarriedTool {
  const origin = { ...originOf(tool, namespace), custom: true };
  readCallers(tool, context);
  const parameters = {
    type: 'object',
    properties: { input: { type: 'string', description: inputDescription(tool, context) } },
    required: ['input'],
    additionalProperties: false,
  };
  return carry(origin, { ...described(tool), parameters }, context.names);
}

/** Adds the grammar to the description, because it cannot be enforced: the model reads it, and the tool checks its input. */
function inputDescription(tool: Fields, context: ResponsesContext): string {
  const format = tool.object('format');
  if (format === undefined || format.neededText('type') === 'text') return 'The input, as plain text.';
  context.dropped.hint(format.at);
  const syntax = format.text('syntax') ?? 'grammar';
  const definition = format.text('definition') ?? '';
  return `The input, as plain text that follows this ${syntax.slice(0, 40)} grammar:\n${definition}`;
}

function carry(origin: ToolOrigin, rest: Omit<ChatTool['function'], 'name'>, names: ToolNames): CarriedTool {
  const name = names.chatName(origin);
  return { origin, chat: { type: 'function', function: { name, ...rest } } };
}

function described(tool: Fields): { readonly description?: UnreadText } {
  const description = tool.unreadText('description');
  return description === undefined ? {} : { description };
}

function originOf(tool: Fields, namespace: string | undefined): ToolOrigin {
  const name = readName(tool);
  return namespace === undefined ? { name } : { name, namespace };
}

function readName(tool: Fields): string {
  const name = tool.neededText('name');
  if (name === '') throw invalid(tool.path('name'), 'A tool needs a name of at least 1 character');
  return name;
}
