import type { ChatTool, ChatToolChoice } from './chat-request.ts';
import type { Fields } from './fields.ts';
import { limits } from './limits.ts';
import { type ClientTool, clientTool } from './messages-client-tools.ts';
import type { MessagesContext } from './messages-context.ts';
import { invalid, unsupportedValue } from './request-fields.ts';
import { unreadText } from './unread-text.ts';

/** The tool fields of the chat request; all absent if no tool is left. */
export interface ToolFields {
  readonly tools?: readonly ChatTool[];
  readonly tool_choice?: ChatToolChoice;
  readonly parallel_tool_calls?: false;
}

/** Tools that Anthropic's servers run: web search and the like. */
const serverTools =
  /^(?:(?:web_search|web_fetch|code_execution|tool_search)(?:_.*)?|mcp_toolset|[a-z_]+_\d{8})$/;
const screenTools = /^(?:computer|browser)_/;

/** Converts `tools` and `tool_choice` (messages.md). Declares every name before the history is read. */
export function convertTools(request: Fields, context: MessagesContext): ToolFields {
  const declared = request.objects('tools', limits.tools) ?? [];
  const seen = new Set<string>();
  const served = new Set<string>();
  const tools: ChatTool[] = [];
  for (const entry of declared) {
    const name = entry.text('name') ?? '';
    const tool = readTool(entry, context);
    if (name !== '' && seen.has(name)) throw invalid(entry.at, 'Tool names must be unique');
    seen.add(name);
    if (tool !== undefined) tools.push(tool);
    else served.add(name);
  }
  const choice = readChoice(request, { seen, served }, context);
  return tools.length === 0 ? {} : { tools, ...choice };
}

function readTool(entry: Fields, context: MessagesContext): ChatTool | undefined {
  const type = entry.text('type') ?? 'custom';
  if (type === 'custom') return customTool(entry, context);
  const known = clientTool(type);
  if (known !== undefined) return builtInTool(entry, known, context);
  if (screenTools.test(type))
    throw unsupportedValue(
      entry.path('type'),
      `Tools of type '${type.slice(0, 60)}' are not supported by the model server`,
    );
  if (!serverTools.test(type))
    throw invalid(
      entry.path('type'),
      `Input tag '${type.slice(0, 60)}' does not match any of the expected tags`,
    );
  entry.dropWhole('loss');
  return undefined;
}

function customTool(entry: Fields, context: MessagesContext): ChatTool {
  const original = entry.neededText('name');
  if (original === '') throw invalid(entry.path('name'), 'String should have at least 1 character');
  const parameters = entry.neededWhole('input_schema');
  const description = entry.unreadText('description');
  const strict = entry.flag('strict');
  readMarks(entry, context);
  return {
    type: 'function',
    function: {
      name: context.names.chatName({ name: original }),
      ...(description === undefined ? {} : { description }),
      parameters,
      ...(strict === true ? { strict } : {}),
    },
  };
}

/** A tool whose schema Anthropic's models know. `strict` is lost: the schema is ours, and looser than strict ones are. */
function builtInTool(
  entry: Fields,
  { description, parameters }: ClientTool,
  context: MessagesContext,
): ChatTool {
  readMarks(entry, context);
  const name = context.names.chatName({ name: entry.neededText('name') });
  const most = entry.number('max_characters', { integer: true, least: 1 });
  const bound = most === undefined ? '' : ` \`view\` shows at most ${most} characters of a file.`;
  return {
    type: 'function',
    function: { name, description: unreadText(`${description}${bound}`), parameters },
  };
}

const marks: ReadonlySet<string> = new Set(['cache_control', 'defer_loading', 'eager_input_streaming']);

/** Every tool is offered from the start and called by the model itself, with its input streamed as the node does it. */
function readMarks(entry: Fields, context: MessagesContext): void {
  entry.hints(marks);
  if (entry.texts('allowed_callers', limits.tools)?.some((caller) => caller !== 'direct') === true)
    context.dropped.loss(entry.path('allowed_callers'));
}

interface Declared {
  readonly seen: ReadonlySet<string>;
  readonly served: ReadonlySet<string>;
}

function readChoice(
  request: Fields,
  declared: Declared,
  context: MessagesContext,
): Omit<ToolFields, 'tools'> {
  const choice = request.object('tool_choice');
  if (choice === undefined) return {};
  const serial = choice.flag('disable_parallel_tool_use') ?? false;
  if (serial && !context.dialect.parallelToolCalls)
    context.dropped.loss(choice.path('disable_parallel_tool_use'));
  const parallel = serial && context.dialect.parallelToolCalls ? { parallel_tool_calls: false as const } : {};
  return { tool_choice: choiceOf(choice, declared, context), ...parallel };
}

function choiceOf(choice: Fields, { seen, served }: Declared, context: MessagesContext): ChatToolChoice {
  const type = choice.neededText('type');
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') {
    if (seen.size > served.size) return 'required';
    if (served.size > 0)
      throw unsupportedValue('tool_choice', 'None of the tools is supported by the model server');
    throw invalid('tool_choice', 'tool_choice may only be specified while providing tools');
  }
  if (type !== 'tool') throw invalid('tool_choice.type', "Input should be 'auto', 'any', 'tool' or 'none'");
  const name = choice.neededText('name');
  if (served.has(name))
    throw unsupportedValue(
      'tool_choice.name',
      `Tool '${name.slice(0, 80)}' is not supported by the model server`,
    );
  if (!seen.has(name))
    throw invalid('tool_choice.name', `Tool '${name.slice(0, 80)}' not found in provided tools`);
  return { type: 'function', function: { name: context.names.chatName({ name }) } };
}
