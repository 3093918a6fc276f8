import type { ChatRequest, ChatTool, ChatToolChoice } from './chat-request.ts';
import type { Fields } from './fields.ts';
import { limits } from './limits.ts';
import { invalid, unsupportedValue } from './request-fields.ts';
import type { ResponsesContext } from './responses-state.ts';
import { type CarriedTool, type DeclaredTools, type FoundTools, readTools } from './responses-tools.ts';
import type { UnreadText } from './unread-text.ts';

type ToolFields = Pick<ChatRequest, 'tools' | 'tool_choice' | 'parallel_tool_calls'>;

/** Which tools may be called, and whether one must be. */
interface Choice {
  readonly tools: readonly ChatTool[];
  readonly choice?: ChatToolChoice;
}

/**
 * `tools`, `tool_choice` and `parallel_tool_calls` (responses.md). All three are left out if no tool
 * remains, because OpenAI refuses a choice without tools.
 */
export function convertTools(
  request: Fields,
  input: UnreadText | readonly Fields[] | undefined,
  context: ResponsesContext,
): ToolFields & { readonly found: FoundTools } {
  const declared = readTools(request, input, context);
  const { found } = declared;
  const { tools, choice } = readChoice(request, declared);
  const parallel = request.flag('parallel_tool_calls');
  if (tools.length === 0) return { found };
  const carriesParallel = context.dialect.parallelToolCalls;
  if (parallel === false && !carriesParallel) context.dropped.loss('parallel_tool_calls');
  return {
    found,
    tools,
    ...(choice === undefined ? {} : { tool_choice: choice }),
    ...(parallel === undefined || !carriesParallel ? {} : { parallel_tool_calls: parallel }),
  };
}

function readChoice(request: Fields, declared: DeclaredTools): Choice {
  const value = request.textOrObject('tool_choice');
  const all = declared.carried.map((tool) => tool.chat);
  if (value === undefined) return { tools: all };
  if (typeof value === 'string') return readMode(value, all, declared);
  const type = value.neededText('type');
  // Some clients write the mode as an object.
  if (type === 'auto' || type === 'none' || type === 'required' || type === 'any')
    return readMode(type === 'any' ? 'required' : type, all, declared);
  if (type === 'allowed_tools') return readAllowed(value, declared);
  if (type !== 'function' && type !== 'custom')
    throw unsupportedValue(
      'tool_choice',
      `Tools of type '${type.slice(0, 60)}' are not supported by the model server`,
    );
  const { name } = findTool(value, declared).chat.function;
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
function readAllowed(value: Fields, declared: DeclaredTools): Choice {
  const mode = value.text('mode') ?? 'auto';
  if (mode !== 'auto' && mode !== 'required')
    throw invalid('tool_choice.mode', "Supported values are: 'auto' and 'required'");
  const allowed = new Set<ChatTool>();
  for (const entry of value.neededObjects('tools', limits.tools)) {
    const type = entry.neededText('type');
    if (type === 'namespace') for (const tool of membersOf(entry, declared)) allowed.add(tool);
    else if (type === 'function' || type === 'custom') allowed.add(findTool(entry, declared).chat);
    else entry.dropWhole('loss');
  }
  const tools = declared.carried.map((tool) => tool.chat).filter((tool) => allowed.has(tool));
  if (tools.length === 0 && mode === 'required')
    throw unsupportedValue(value.path('tools'), 'None of the tools is supported by the model server');
  return { tools, choice: mode };
}

function membersOf(entry: Fields, declared: DeclaredTools): readonly ChatTool[] {
  const namespace = entry.neededText('name');
  return declared.carried.filter((tool) => tool.origin.namespace === namespace).map((tool) => tool.chat);
}

/** The tool of this name. The namespace may be left out if only one tool has the name. */
function findTool(entry: Fields, { carried }: DeclaredTools): CarriedTool {
  const name = entry.neededText('name');
  const namespace = entry.text('namespace');
  const named = carried.filter(({ origin }) => origin.name === name);
  const exact = named.find(({ origin }) => origin.namespace === namespace);
  const only = namespace === undefined && named.length === 1 ? named[0] : undefined;
  const found = exact ?? only;
  if (found === undefined)
    throw invalid(entry.at, `Tool choice '${name.slice(0, 80)}' not found in 'tools' parameter`);
  return found;
}
