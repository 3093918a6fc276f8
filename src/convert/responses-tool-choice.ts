import type { ChatRequest, ChatTool, ChatToolChoice } from './chat-request.ts';
import { isObject, type JsonObject } from './json.ts';
import { limits } from './limits.ts';
import {
  asList,
  asObject,
  invalid,
  optionalBoolean,
  optionalString,
  pathOf,
  required,
  requiredString,
  unsupportedValue,
  wrongType,
} from './request-fields.ts';
import type { ResponsesContext } from './responses-state.ts';
import { type CarriedTool, type DeclaredTools, readTools } from './responses-tools.ts';

type ToolFields = Pick<ChatRequest, 'tools' | 'tool_choice' | 'parallel_tool_calls'>;

/** Which tools may be called, and whether one must be. */
interface Choice {
  readonly tools: readonly ChatTool[];
  readonly choice?: ChatToolChoice;
}

/**
 * `tools`, `tool_choice` and `parallel_tool_calls` (responses.md). All three are left out where no tool
 * is left, because OpenAI refuses a choice without tools.
 */
export function convertTools(body: JsonObject, context: ResponsesContext): ToolFields {
  const declared = readTools(body, context);
  const { tools, choice } = readChoice(body, declared);
  const parallel = optionalBoolean(body, 'parallel_tool_calls', '');
  if (tools.length === 0) return {};
  const carriesParallel = context.dialect.parallelToolCalls;
  if (parallel === false && !carriesParallel) context.dropped.loss('parallel_tool_calls');
  return {
    tools,
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(parallel === undefined || !carriesParallel ? {} : { parallel_tool_calls: parallel }),
  };
}

function readChoice(body: JsonObject, declared: DeclaredTools): Choice {
  const at = 'tool_choice';
  const value = body[at] ?? undefined;
  const all = declared.carried.map((tool) => tool.chat);
  if (value === undefined) return { tools: all };
  if (typeof value === 'string') return readMode(value, all, declared);
  if (!isObject(value)) throw wrongType(at, 'object', value);
  const type = requiredString(value, 'type', at);
  // Some clients write the mode as an object.
  if (type === 'auto' || type === 'none' || type === 'required' || type === 'any')
    return readMode(type === 'any' ? 'required' : type, all, declared);
  if (type === 'allowed_tools') return readAllowed(value, declared);
  if (type !== 'function' && type !== 'custom')
    throw unsupportedValue(at, `Tools of type '${type.slice(0, 60)}' are not supported by the model server`);
  const { name } = findTool(value, at, declared).chat.function;
  return { tools: all, choice: { type: 'function', function: { name } } };
}

function readMode(mode: string, tools: readonly ChatTool[], declared: DeclaredTools): Choice {
  if (mode === 'auto' || mode === 'none') return { tools, choice: mode };
  if (mode !== 'required')
    throw invalid('tool_choice', "Supported values are: 'none', 'auto' and 'required'");
  if (tools.length > 0) return { tools, choice: 'required' };
  if (declared.hosted)
    throw unsupportedValue('tool_choice', 'None of the tools is supported by the model server');
  throw invalid('tool_choice', "'required' needs tools");
}

/** Only the listed tools are sent: the model cannot call what it does not know. */
function readAllowed(value: JsonObject, declared: DeclaredTools): Choice {
  const at = 'tool_choice';
  const mode = optionalString(value, 'mode', at) ?? 'auto';
  if (mode !== 'auto' && mode !== 'required')
    throw invalid('tool_choice.mode', "Supported values are: 'auto' and 'required'");
  const path = pathOf(at, 'tools');
  const list = asList(required(value, 'tools', at), path, limits.tools);
  const allowed = new Set<ChatTool>();
  for (const [index, item] of list.entries()) {
    const itemAt = pathOf(path, index);
    const entry = asObject(item, itemAt);
    const type = requiredString(entry, 'type', itemAt);
    if (type === 'namespace') for (const tool of membersOf(entry, itemAt, declared)) allowed.add(tool);
    // Tools that the vendor runs are left out of the request anyway, and named as such.
    else if (type === 'function' || type === 'custom') allowed.add(findTool(entry, itemAt, declared).chat);
  }
  const tools = declared.carried.map((tool) => tool.chat).filter((tool) => allowed.has(tool));
  if (tools.length === 0 && mode === 'required')
    throw unsupportedValue(path, 'None of the tools is supported by the model server');
  return { tools, choice: mode };
}

function membersOf(entry: JsonObject, at: string, declared: DeclaredTools): readonly ChatTool[] {
  const namespace = requiredString(entry, 'name', at);
  return declared.carried.filter((tool) => tool.origin.namespace === namespace).map((tool) => tool.chat);
}

/** The tool of this name; a namespace may be left out where the name tells. */
function findTool(entry: JsonObject, at: string, { carried }: DeclaredTools): CarriedTool {
  const name = requiredString(entry, 'name', at);
  const namespace = optionalString(entry, 'namespace', at);
  const named = carried.filter(({ origin }) => origin.name === name);
  const exact = named.find(({ origin }) => origin.namespace === namespace);
  const only = namespace === undefined && named.length === 1 ? named[0] : undefined;
  const found = exact ?? only;
  if (found === undefined)
    throw invalid(at, `Tool choice '${name.slice(0, 80)}' not found in 'tools' parameter`);
  return found;
}
