import type { ChatTool, ChatToolChoice } from './chat-request.ts';
import type { JsonObject } from './json.ts';
import { limits } from './limits.ts';
import { clientTool } from './messages-client-tools.ts';
import { hintFields, type MessagesContext } from './messages-context.ts';
import {
  asObject,
  checkNesting,
  invalid,
  optionalBoolean,
  optionalList,
  optionalObject,
  optionalString,
  pathOf,
  required,
  requiredString,
  unsupportedValue,
} from './request-fields.ts';

/** The tool fields of the chat request; all absent where no tool is left. */
export interface ToolFields {
  readonly tools?: readonly ChatTool[];
  readonly tool_choice?: ChatToolChoice;
  readonly parallel_tool_calls?: false;
}

/** Tools that Anthropic's servers run: web search and the like. */
const serverTools =
  /^(?:(?:web_search|web_fetch|code_execution|tool_search)(?:_.*)?|mcp_toolset|[a-z_]+_\d{8})$/;
const screenTools = /^(?:computer|browser)_/;
const marks = [
  'cache_control',
  'defer_loading',
  'eager_input_streaming',
  'input_examples',
  'allowed_callers',
];

/** Converts `tools` and `tool_choice` (messages.md). Declares every name before the history is read. */
export function convertTools(body: JsonObject, context: MessagesContext): ToolFields {
  const declared = optionalList(body, 'tools', '', limits.tools) ?? [];
  const seen = new Set<string>();
  const served = new Set<string>();
  const tools: ChatTool[] = [];
  for (const [index, item] of declared.entries()) {
    const at = pathOf('tools', index);
    const entry = asObject(item, at);
    const tool = readTool(entry, at, context);
    const name = optionalString(entry, 'name', at) ?? '';
    if (name !== '' && seen.has(name)) throw invalid(at, 'Tool names must be unique');
    seen.add(name);
    if (tool !== undefined) tools.push(tool);
    else served.add(name);
  }
  const choice = readChoice(body, { seen, served }, context);
  return tools.length === 0 ? {} : { tools, ...choice };
}

function readTool(entry: JsonObject, at: string, context: MessagesContext): ChatTool | undefined {
  const type = optionalString(entry, 'type', at) ?? 'custom';
  if (type === 'custom') return customTool(entry, at, context);
  const known = clientTool(type);
  if (known !== undefined) {
    hintFields(entry, at, marks, context.dropped);
    const name = context.names.chatName({ name: requiredString(entry, 'name', at) });
    return { type: 'function', function: { name, ...known } };
  }
  if (screenTools.test(type))
    throw unsupportedValue(
      pathOf(at, 'type'),
      `Tools of type '${type.slice(0, 60)}' are not supported by the model server`,
    );
  if (!serverTools.test(type))
    throw invalid(
      pathOf(at, 'type'),
      `Input tag '${type.slice(0, 60)}' does not match any of the expected tags`,
    );
  context.dropped.loss(at);
  return undefined;
}

function customTool(entry: JsonObject, at: string, context: MessagesContext): ChatTool {
  const original = requiredString(entry, 'name', at);
  if (original === '') throw invalid(pathOf(at, 'name'), 'String should have at least 1 character');
  const path = pathOf(at, 'input_schema');
  const parameters = asObject(required(entry, 'input_schema', at), path);
  checkNesting(parameters, path, limits.nesting);
  const description = optionalString(entry, 'description', at);
  const strict = optionalBoolean(entry, 'strict', at);
  hintFields(entry, at, marks, context.dropped);
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

interface Declared {
  readonly seen: ReadonlySet<string>;
  readonly served: ReadonlySet<string>;
}

function readChoice(
  body: JsonObject,
  declared: Declared,
  context: MessagesContext,
): Omit<ToolFields, 'tools'> {
  const at = 'tool_choice';
  const choice = optionalObject(body, at, '');
  if (choice === undefined) return {};
  const serial = optionalBoolean(choice, 'disable_parallel_tool_use', at) ?? false;
  if (serial && !context.dialect.parallelToolCalls) context.dropped.loss(`${at}.disable_parallel_tool_use`);
  const parallel = serial && context.dialect.parallelToolCalls ? { parallel_tool_calls: false as const } : {};
  return { tool_choice: choiceOf(choice, declared, context), ...parallel };
}

function choiceOf(choice: JsonObject, { seen, served }: Declared, context: MessagesContext): ChatToolChoice {
  const type = requiredString(choice, 'type', 'tool_choice');
  if (type === 'auto' || type === 'none') return type;
  const allServed = served.size > 0 && served.size === seen.size;
  if (type === 'any' && !allServed) return 'required';
  if (type === 'any')
    throw unsupportedValue('tool_choice', 'None of the tools is supported by the model server');
  if (type !== 'tool') throw invalid('tool_choice.type', "Input should be 'auto', 'any', 'tool' or 'none'");
  const name = requiredString(choice, 'name', 'tool_choice');
  if (served.has(name))
    throw unsupportedValue(
      'tool_choice.name',
      `Tool '${name.slice(0, 80)}' is not supported by the model server`,
    );
  if (!seen.has(name))
    throw invalid('tool_choice.name', `Tool '${name.slice(0, 80)}' not found in provided tools`);
  return { type: 'function', function: { name: context.names.chatName({ name }) } };
}
