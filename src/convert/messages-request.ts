import { createHash } from 'node:crypto';
import type { ChatMessage, ChatRequest } from './chat-request.ts';
import type { ConversionOptions, ConvertedRequest } from './conversion.ts';
import { Dropped } from './dropped.ts';
import type { NewId } from './ids.ts';
import { isObject, type JsonObject } from './json.ts';
import { leadingSystem } from './leading-system.ts';
import { limits } from './limits.ts';
import type { MessagesContext } from './messages-context.ts';
import { convertOutputFormat } from './messages-output-format.ts';
import { convertThinking } from './messages-thinking.ts';
import { refuseThread } from './messages-thread.ts';
import { convertTools } from './messages-tools.ts';
import { convertTurns, systemText } from './messages-turns.ts';
import {
  asList,
  asObject,
  asString,
  invalid,
  missing,
  optionalBoolean,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalString,
  pathOf,
  required,
  requiredString,
  unsupportedParameter,
} from './request-fields.ts';
import { ToolNames } from './tool-names.ts';
import { isAsked, type KnownFields, noteUnread } from './unread-fields.ts';

/** What the reply to a messages request needs to know of it. */
export interface MessagesState {
  /** The model as the caller named it. */
  readonly model: string;
  /** The model as the node calls it: what it signs is for it alone (kept-signatures.ts). */
  readonly nodeModel: string;
  readonly names: ToolNames;
  readonly stopSequences: readonly string[];
  readonly newId: NewId;
}

/** Fields that are read here or by a part; whatever else a caller fills is dropped and named. */
const read: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'max_tokens',
  'system',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'metadata',
  'thinking',
  'output_config',
  'output_format',
  'tools',
  'tool_choice',
  'stream',
]);

/** Dropped fields that have no bearing on the answer. */
const hints: ReadonlySet<string> = new Set([
  'service_tier',
  'speed',
  'diagnostics',
  'cache_control',
  'user_profile_id',
  'workspace_id',
  'betas',
  'anthropic_beta',
  'anthropic_version',
]);

const known: KnownFields = { read, hints };

/**
 * Converts a body of `POST /v1/messages` (messages.md). Throws a ConversionError for what Anthropic's
 * API refuses, for what chat-completions cannot say, and, with `strict`, for anything that would be lost.
 */
export function convertMessagesRequest(
  body: unknown,
  options: ConversionOptions,
): ConvertedRequest<MessagesState> {
  const request = asObject(body, 'body');
  return convertMessages(request, options, readMaxTokens(request));
}

/** The same for `POST /v1/messages/count_tokens`, which takes no `max_tokens`. */
export function convertCountTokensRequest(
  body: unknown,
  options: ConversionOptions,
): ConvertedRequest<MessagesState> {
  return convertMessages(asObject(body, 'body'), options, undefined);
}

function convertMessages(
  body: JsonObject,
  options: ConversionOptions,
  maxTokens: number | undefined,
): ConvertedRequest<MessagesState> {
  const { dialect, model, strict, newId } = options;
  const context: MessagesContext = { dialect, names: new ToolNames(), dropped: new Dropped() };
  const callerModel = requiredString(body, 'model', '');
  refuseUnsupported(body);
  const tools = convertTools(body, context);
  const stopSequences = readStopSequences(body);
  const messages = convertConversation(body, context);
  const sampling = convertSampling(body, context);
  const format = convertOutputFormat(body);
  const effort = convertThinking(body, context);
  const user = convertUser(body, context);
  const stream = optionalBoolean(body, 'stream', '') === true;
  const newField = dialect.maxTokensField === 'MaxCompletionTokens';
  const chat: ChatRequest = {
    model,
    messages,
    max_completion_tokens: newField ? maxTokens : undefined,
    max_tokens: newField ? undefined : maxTokens,
    stop: stopSequences.length === 0 ? undefined : stopSequences,
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
  noteUnread(body, known, context.dropped);
  context.dropped.refuseIf(strict);
  const state: MessagesState = {
    model: callerModel,
    nodeModel: model,
    names: context.names,
    stopSequences,
    newId,
  };
  return { chat, state, dropped: context.dropped.list(), lossy: context.dropped.lossy };
}

function readMaxTokens(body: JsonObject): number {
  const count = optionalNumber(body, 'max_tokens', '', { integer: true, least: 1 });
  if (count === undefined) throw missing('max_tokens');
  return count;
}

function refuseUnsupported(body: JsonObject): void {
  refuseThread(body);
  const servers = optionalList(body, 'mcp_servers', '', limits.tools) ?? [];
  if (servers.length > 0)
    throw unsupportedParameter('mcp_servers', 'MCP servers are not supported by the model server');
  const { container } = body;
  if (isObject(container) && isAsked(container['skills']))
    throw unsupportedParameter('container.skills', 'Skills are not supported by the model server');
}

function convertConversation(body: JsonObject, context: MessagesContext): readonly ChatMessage[] {
  const list = asList(required(body, 'messages', ''), 'messages', limits.items);
  if (list.length === 0) throw invalid('messages', 'at least one message is required');
  const system = systemText(body['system'] ?? '', 'system', context);
  const turns = convertTurns(list, context);
  if (turns.length === 0) throw invalid('messages', 'at least one message with content is required');
  const messages: readonly ChatMessage[] =
    system === '' ? turns : [{ role: 'system', content: system }, ...turns];
  return context.dialect.systemPlacement === 'Leading' ? leadingSystem(messages) : messages;
}

function readStopSequences(body: JsonObject): readonly string[] {
  const list = optionalList(body, 'stop_sequences', '', limits.tools) ?? [];
  return list.map((item, index) => asString(item, pathOf('stop_sequences', index)));
}

function convertSampling(body: JsonObject, context: MessagesContext) {
  const topK = optionalNumber(body, 'top_k', '', { integer: true, least: 0 });
  const takesTopK = context.dialect.samplingExtras;
  if (topK !== undefined && !takesTopK) context.dropped.loss('top_k');
  return {
    temperature: optionalNumber(body, 'temperature', '', { least: 0, most: 1 }),
    topP: optionalNumber(body, 'top_p', '', { least: 0, most: 1 }),
    topK: takesTopK ? topK : undefined,
  };
}

/** `metadata.user_id`. Claude Code's is a JSON text of 150 characters or more; `user` takes 64. */
function convertUser(body: JsonObject, context: MessagesContext): string | undefined {
  const metadata = optionalObject(body, 'metadata', '');
  const userId = metadata === undefined ? undefined : optionalString(metadata, 'user_id', 'metadata');
  if (userId === undefined || userId === '') return undefined;
  if (!context.dialect.openAIExtras) {
    context.dropped.hint('metadata.user_id');
    return undefined;
  }
  return userId.length <= 64 ? userId : createHash('sha256').update(userId).digest('hex');
}
