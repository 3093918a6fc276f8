import type { ChatMessage, ChatRequest } from './chat-request.ts';
import type { ConversionOptions, ConvertedRequest } from './conversion.ts';
import { ConversionError } from './conversion-error.ts';
import { Dropped } from './dropped.ts';
import type { JsonObject } from './json.ts';
import { leadingSystem } from './leading-system.ts';
import {
  asObject,
  missing,
  optionalBoolean,
  optionalNumber,
  optionalObject,
  optionalString,
  required,
  requiredString,
  unsupportedParameter,
} from './request-fields.ts';
import { echoJson } from './responses-echo.ts';
import { checkMetadata, convertExtras } from './responses-extras.ts';
import { convertInput } from './responses-input.ts';
import { convertParameters, wantsSummary } from './responses-parameters.ts';
import type { ResponsesContext, ResponsesState } from './responses-state.ts';
import { convertTools } from './responses-tool-choice.ts';
import { ToolNames } from './tool-names.ts';
import { isAsked, noteUnread } from './unread-fields.ts';

const read: ReadonlySet<string> = new Set([
  'model',
  'input',
  'instructions',
  'max_output_tokens',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'top_logprobs',
  'stream',
  // Obfuscation of chunk sizes is all it asks for.
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'reasoning',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
  'service_tier',
  'metadata',
  'include',
  'truncation',
  'previous_response_id',
  'conversation',
  'prompt',
  'background',
]);

const hints: ReadonlySet<string> = new Set([
  'store',
  'max_tool_calls',
  'client_metadata',
  'context_management',
  'moderation',
  'access_programs',
]);

const parts = {
  text: { read: new Set(['format', 'verbosity']), hints: new Set<string>() },
  // Which earlier reasoning the model is shown: none of it is kept here.
  reasoning: { read: new Set(['effort', 'summary', 'generate_summary']), hints: new Set(['context']) },
} as const;

/**
 * Converts a body of `POST /v1/responses` (responses.md). Throws a ConversionError for what OpenAI's API
 * refuses, for what needs a store or cannot be said in chat-completions, and, with `strict`, for anything that would
 * be lost.
 */
export function convertResponsesRequest(
  body: unknown,
  options: ConversionOptions,
): ConvertedRequest<ResponsesState> {
  const { model, dialect, strict, newId, now } = options;
  const request = asObject(body, 'body');
  const context: ResponsesContext = { dialect, names: new ToolNames(), dropped: new Dropped() };
  const callerModel = requiredString(request, 'model', '');
  refuseUnsupported(request);
  const stream = optionalBoolean(request, 'stream', '') === true;
  // Before the history: a declared tool keeps its name, one that only the history knows makes way.
  const tools = convertTools(request, context);
  const messages = convertConversation(request, context);
  const parameters = convertParameters(request, context);
  const extras = convertExtras(request, context);
  const chat: ChatRequest = {
    model,
    messages,
    max_completion_tokens: parameters.max_completion_tokens,
    max_tokens: parameters.max_tokens,
    temperature: parameters.temperature,
    top_p: parameters.top_p,
    presence_penalty: parameters.presence_penalty,
    frequency_penalty: parameters.frequency_penalty,
    logprobs: parameters.logprobs,
    top_logprobs: parameters.top_logprobs,
    response_format: parameters.response_format,
    verbosity: parameters.verbosity,
    reasoning_effort: parameters.reasoning_effort,
    user: extras.user,
    safety_identifier: extras.safety_identifier,
    prompt_cache_key: extras.prompt_cache_key,
    prompt_cache_retention: extras.prompt_cache_retention,
    service_tier: extras.service_tier,
    prompt_cache_options: extras.prompt_cache_options,
    tools: tools.tools,
    tool_choice: tools.tool_choice,
    parallel_tool_calls: tools.parallel_tool_calls,
    stream: stream || undefined,
    stream_options: stream ? { include_usage: true } : undefined,
  };
  checkMetadata(request);
  noteDropped(request, context);
  context.dropped.refuseIf(strict);
  const state: ResponsesState = {
    echo: echoJson(request, callerModel),
    nodeModel: model,
    names: context.names,
    summarized: wantsSummary(request),
    logprobs: chat.logprobs === true,
    newId,
    now,
  };
  return { chat, state, dropped: context.dropped.list(), lossy: context.dropped.lossy };
}

function refuseUnsupported(body: JsonObject): void {
  const previous = optionalString(body, 'previous_response_id', '');
  if (previous !== undefined) throw notKept(previous);
  for (const field of ['conversation', 'prompt', 'background'])
    if (isAsked(body[field]))
      throw unsupportedParameter(field, 'Not supported: nothing is stored here; send the whole input');
}

/** Going on without the earlier turns would answer another question. */
function notKept(id: string): ConversionError {
  const reason = `Previous response with id '${id.slice(0, 80)}' not found.`;
  const code = 'previous_response_not_found';
  return new ConversionError({ code, param: 'previous_response_id', reason, sentence: reason });
}

function convertConversation(body: JsonObject, context: ResponsesContext): readonly ChatMessage[] {
  const instructions = optionalString(body, 'instructions', '') ?? '';
  const input = convertInput(body, context);
  const role = context.dialect.developerRole ? 'developer' : 'system';
  const messages: readonly ChatMessage[] =
    instructions === '' ? input : [{ role, content: instructions }, ...input];
  if (messages.length === 0) throw nothingToAnswer(body);
  return context.dialect.systemPlacement === 'Leading' ? leadingSystem(messages) : messages;
}

function nothingToAnswer(body: JsonObject): ConversionError {
  const input = required(body, 'input', '');
  if (input === '')
    return new ConversionError({ code: 'empty_string', param: 'input', reason: 'It must not be empty' });
  if (Array.isArray(input) && input.length === 0)
    return new ConversionError({ code: 'empty_array', param: 'input', reason: 'It must not be empty' });
  return missing('input');
}

function noteDropped(body: JsonObject, { dropped }: ResponsesContext): void {
  optionalBoolean(body, 'store', '');
  optionalNumber(body, 'max_tool_calls', '', { integer: true, least: 0 });
  optionalObject(body, 'stream_options', '');
  if ((optionalString(body, 'truncation', '') ?? 'disabled') !== 'disabled') dropped.loss('truncation');
  noteUnread(body, { read, hints }, dropped);
  for (const field of ['text', 'reasoning'] as const) {
    const part = optionalObject(body, field, '');
    if (part !== undefined) noteUnread(part, parts[field], dropped, field);
  }
}
