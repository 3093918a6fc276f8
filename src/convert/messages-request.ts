import { createHash } from 'node:crypto';
import type { ChatMessage, ChatRequest } from './chat-request.ts';
import type { ConversionOptions, ConvertedRequest } from './conversion.ts';
import { Dropped } from './dropped.ts';
import { Fields } from './fields.ts';
import type { NewId } from './ids.ts';
import { leadingSystem } from './leading-system.ts';
import { limits } from './limits.ts';
import type { MessagesContext } from './messages-context.ts';
import { convertOutputFormat } from './messages-output-format.ts';
import { convertThinking } from './messages-thinking.ts';
import { refuseThread } from './messages-thread.ts';
import { convertTools } from './messages-tools.ts';
import { convertTurns, systemText } from './messages-turns.ts';
import { invalid, missing, pathOf, unsupportedParameter } from './request-fields.ts';
import { ToolNames } from './tool-names.ts';
import { noText } from './unread-text.ts';

/** What the reply to a messages request needs to know of it. */
export interface MessagesState {
  /** The model as the caller named it. */
  readonly model: string;
  /** The node's name of the model: signatures are valid only for the same model (kept-signatures.ts). */
  readonly nodeModel: string;
  readonly names: ToolNames;
  readonly stopSequences: readonly string[];
  readonly newId: NewId;
}

/** Fields that are not carried and do not affect the answer. */
const hints: ReadonlySet<string> = new Set([
  'service_tier',
  'speed',
  'diagnostics',
  'cache_control',
  'user_profile_id',
  'workspace_id',
  'billing_policy',
  'fallback_credit_token',
  'betas',
  'anthropic_beta',
  'anthropic_version',
]);

/**
 * Converts a body of `POST /v1/messages` (messages.md). Throws a ConversionError for what Anthropic's
 * API refuses, for what chat-completions cannot say, and, with `strict`, for anything that would be lost.
 */
export function convertMessagesRequest(
  body: unknown,
  options: ConversionOptions,
): ConvertedRequest<MessagesState> {
  return convertMessages(body, options, readMaxTokens);
}

/** The same for `POST /v1/messages/count_tokens`, which takes no `max_tokens`. */
export function convertCountTokensRequest(
  body: unknown,
  options: ConversionOptions,
): ConvertedRequest<MessagesState> {
  return convertMessages(body, options, (request) => request.unneeded('max_tokens'));
}

function convertMessages(
  body: unknown,
  options: ConversionOptions,
  limit: (request: Fields) => number | undefined,
): ConvertedRequest<MessagesState> {
  const { dialect, model, strict, newId, texts } = options;
  const context: MessagesContext = { dialect, model, names: new ToolNames(), dropped: new Dropped() };
  const request = Fields.of(body, context.dropped, texts);
  const maxTokens = limit(request);
  const callerModel = request.neededText('model');
  refuseUnsupported(request);
  const tools = convertTools(request, context);
  const stopSequences = request.texts('stop_sequences', limits.tools) ?? [];
  const messages = convertConversation(request, context);
  const sampling = convertSampling(request, context);
  const config = request.object('output_config');
  const format = convertOutputFormat(request, config);
  const effort = convertThinking(request, config, context);
  const user = convertUser(request, context);
  const stream = request.flag('stream') === true;
  dropContextManagement(request);
  request.hints(hints);
  const newField = dialect.maxTokensField === 'MaxCompletionTokens';
  const chat: ChatRequest = {
    model,
    messages,
    max_completion_tokens: newField ? maxTokens : undefined,
    max_tokens: newField ? undefined : maxTokens,
    stop: convertStop(stopSequences, context),
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    response_format: format,
    reasoning_effort: effort,
    user,
    safety_identifier: user,
    tools: tools.tools,
    tool_choice: tools.tool_choice,
    parallel_tool_calls: tools.parallel_tool_calls,
    stream: stream || undefined,
    stream_options: stream ? { include_usage: true } : undefined,
  };
  const { dropped, lossy } = context.dropped.settle(strict);
  const { names } = context;
  const state: MessagesState = { model: callerModel, nodeModel: model, names, stopSequences, newId };
  return { chat, state, dropped, lossy };
}

function readMaxTokens(request: Fields): number {
  const count = request.number('max_tokens', { integer: true, least: 1 });
  if (count === undefined) throw missing('max_tokens');
  return count;
}

function refuseUnsupported(request: Fields): void {
  refuseThread(request);
  const servers = request.objects('mcp_servers', limits.tools) ?? [];
  if (servers.length > 0)
    throw unsupportedParameter('mcp_servers', 'MCP servers are not supported by the model server');
  // Refused, because the caller expects a summary of the conversation as the answer.
  if (request.asked('compaction'))
    throw unsupportedParameter('compaction', 'The model server does not summarize conversations');
  if (request.kind('container') === 'object' && request.neededObject('container').asked('skills'))
    throw unsupportedParameter('container.skills', 'Skills are not supported by the model server');
}

function convertConversation(request: Fields, context: MessagesContext): readonly ChatMessage[] {
  const list = request.neededObjects('messages', limits.items);
  if (list.length === 0) throw invalid('messages', 'at least one message is required');
  const system = systemText(request, 'system');
  const turns = convertTurns(list, context);
  if (turns.length === 0) throw invalid('messages', 'at least one message with content is required');
  const messages: readonly ChatMessage[] =
    system === noText ? turns : [{ role: 'system', content: system }, ...turns];
  return context.dialect.systemPlacement === 'Leading' ? leadingSystem(messages) : messages;
}

/** The stop sequences for `stop`: as many as the node takes, because it would refuse the request for more. */
function convertStop(sequences: readonly string[], context: MessagesContext): readonly string[] | undefined {
  if (sequences.length === 0) return undefined;
  const { mostStops } = context.dialect;
  for (let index = mostStops; index < sequences.length; index++)
    context.dropped.loss(pathOf('stop_sequences', index));
  return sequences.slice(0, mostStops);
}

function convertSampling(request: Fields, context: MessagesContext) {
  const topK = request.number('top_k', { integer: true, least: 0 });
  const takesTopK = context.dialect.samplingExtras;
  if (topK !== undefined && !takesTopK) context.dropped.loss('top_k');
  return {
    temperature: request.number('temperature', { least: 0, most: 1 }),
    topP: request.number('top_p', { least: 0, most: 1 }),
    topK: takesTopK ? topK : undefined,
  };
}

/** `metadata.user_id`. Claude Code's is a JSON text of 150 characters or more; `user` takes 64. */
function convertUser(request: Fields, context: MessagesContext): string | undefined {
  const userId = request.object('metadata')?.text('user_id');
  if (userId === undefined || userId === '') return undefined;
  if (!context.dialect.openAIExtras) {
    context.dropped.hint('metadata.user_id');
    return undefined;
  }
  return userId.length <= 64 ? userId : createHash('sha256').update(userId).digest('hex');
}

/**
 * Claude Code asks in every request which thinking of earlier turns the model is to see, which decides nothing: a node
 * sees what `reasoningHistoryField` says. Other edits take text away from the model.
 */
function dropContextManagement(request: Fields): void {
  const management = request.object('context_management');
  const edits = management?.objects('edits', limits.items) ?? [];
  if (edits.length === 0) return;
  const harmless = edits.every((edit) => edit.text('type')?.startsWith('clear_thinking_') === true);
  management?.dropWhole(harmless ? 'hint' : 'loss');
}
