import type { ChatMessage, ChatRequest } from './chat-request.ts';
import type { ConversionOptions, ConvertedRequest } from './conversion.ts';
import { ConversionError } from './conversion-error.ts';
import { Dropped } from './dropped.ts';
import { Fields } from './fields.ts';
import { leadingSystem } from './leading-system.ts';
import { limits } from './limits.ts';
import { missing, unsupportedParameter } from './request-fields.ts';
import { echoJson } from './responses-echo.ts';
import { convertExtras } from './responses-extras.ts';
import { convertInput } from './responses-input.ts';
import { convertParameters, wantsSummary } from './responses-parameters.ts';
import type { ResponsesContext, ResponsesState } from './responses-state.ts';
import { convertTools } from './responses-tool-choice.ts';
import type { FoundTools } from './responses-tools.ts';
import { ToolNames } from './tool-names.ts';
import { isUnreadText, noText, type UnreadText } from './unread-text.ts';

const hints: ReadonlySet<string> = new Set(['client_metadata', 'moderation', 'access_programs']);

/**
 * Converts a body of `POST /v1/responses` (responses.md). Throws a ConversionError for what OpenAI's API
 * refuses, for what needs a store or cannot be said in chat-completions, and, with `strict`, for anything that would
 * be lost.
 */
export function convertResponsesRequest(
  body: unknown,
  options: ConversionOptions,
): ConvertedRequest<ResponsesState> {
  const { model, dialect, strict, newId, now, texts } = options;
  const context: ResponsesContext = { dialect, model, names: new ToolNames(), dropped: new Dropped() };
  const request = Fields.of(body, context.dropped, texts);
  const callerModel = request.neededText('model');
  refuseUnsupported(request);
  const stream = request.flag('stream') === true;
  const input = request.unreadTextOrObjects('input', limits.items);
  // Tools are converted before the history, so that declared tools keep their names and those of the history are changed.
  const { found, ...tools } = convertTools(request, input, context);
  const messages = convertConversation(request, input, found, context);
  const reasoning = request.object('reasoning');
  const parameters = convertParameters(request, reasoning, context);
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
  request.textsByName('metadata');
  const summarized = wantsSummary(reasoning);
  noteDropped(request, context);
  const { dropped, lossy } = context.dropped.settle(strict);
  const state: ResponsesState = {
    echo: echoJson(request, callerModel),
    nodeModel: model,
    names: context.names,
    summarized,
    logprobs: chat.logprobs === true,
    newId,
    now,
  };
  return { chat, state, dropped, lossy };
}

function refuseUnsupported(request: Fields): void {
  const previous = request.text('previous_response_id');
  if (previous !== undefined) throw notKept(previous);
  for (const field of ['conversation', 'prompt', 'background'])
    if (request.asked(field))
      throw unsupportedParameter(field, 'Not supported: nothing is stored here; send the whole input');
}

/** Refuses a request that refers to a stored response: without the earlier turns the answer would be wrong. */
function notKept(id: string): ConversionError {
  const reason = `Previous response with id '${id.slice(0, 80)}' not found.`;
  const code = 'previous_response_not_found';
  return new ConversionError({ code, param: 'previous_response_id', reason, sentence: reason });
}

function convertConversation(
  request: Fields,
  input: UnreadText | readonly Fields[] | undefined,
  found: FoundTools,
  context: ResponsesContext,
): readonly ChatMessage[] {
  const instructions = request.unreadText('instructions') ?? noText;
  const said = convertInput(input, found, context);
  const role = context.dialect.developerRole ? 'developer' : 'system';
  const messages: readonly ChatMessage[] =
    instructions === noText ? said : [{ role, content: instructions }, ...said];
  if (messages.length === 0) throw nothingToAnswer(input);
  return context.dialect.systemPlacement === 'Leading' ? leadingSystem(messages) : messages;
}

function nothingToAnswer(input: UnreadText | readonly Fields[] | undefined): ConversionError {
  if (input === noText)
    return new ConversionError({ code: 'empty_string', param: 'input', reason: 'It must not be empty' });
  if (!isUnreadText(input) && input?.length === 0)
    return new ConversionError({ code: 'empty_array', param: 'input', reason: 'It must not be empty' });
  return missing('input');
}

function noteDropped(request: Fields, { dropped }: ResponsesContext): void {
  if (request.flag('store') === true) dropped.hint('store');
  if (request.number('max_tool_calls', { integer: true, least: 0 }) !== undefined)
    dropped.hint('max_tool_calls');
  if ((request.text('truncation') ?? 'disabled') !== 'disabled') dropped.loss('truncation');
  // Obfuscation is not added: the sizes of events show as much as they do without it.
  request.object('stream_options')?.unneeded('include_obfuscation');
  request.hints(hints);
}
