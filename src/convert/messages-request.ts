import { createHash } from 'node:crypto';
import type { ChatMessage, ChatRequest } from './chat-request.ts';
import type { ConversionOptions, ConvertedRequest } from './conversion.ts';
import { defined } from './defined.ts';
import type { Dialect } from './dialect.ts';
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
 * Converts a body of `POST /v1/messages` (formats: messages request). Throws a ConversionError for what Anthropic's
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
  const chat: ChatRequest = {
    model,
    messages: convertConversation(body, context),
    ...maxTokensField(maxTokens, dialect),
    ...(stopSequences.length === 0 ? {} : { stop: stopSequences }),
    ...defined({
      ...convertSampling(body, context),
      response_format: convertOutputFormat(body),
      reasoning_effort: convertThinking(body, context),
    }),
    ...convertUser(body, context),
    ...tools,
    ...(optionalBoolean(body, 'stream', '') === true
      ? { stream: true, stream_options: { include_usage: true } as const }
      : {}),
  };
  noteUnread(body, known, context.dropped);
  context.dropped.refuseIf(strict);
  const state: MessagesState = { model: callerModel, names: context.names, stopSequences, newId };
  return { chat, state, dropped: context.dropped.list(), lossy: context.dropped.lossy };
}

function readMaxTokens(body: JsonObject): number {
  const count = optionalNumber(body, 'max_tokens', '', { integer: true, least: 1 });
  if (count === undefined) throw missing('max_tokens');
  return count;
}

function maxTokensField(count: number | undefined, dialect: Dialect): Partial<ChatRequest> {
  if (count === undefined) return {};
  return dialect.maxTokensField === 'MaxCompletionTokens'
    ? { max_completion_tokens: count }
    : { max_tokens: count };
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
    top_p: optionalNumber(body, 'top_p', '', { least: 0, most: 1 }),
    top_k: takesTopK ? topK : undefined,
  };
}

/** `metadata.user_id`. Claude Code's is a JSON text of 150 characters or more; `user` takes 64. */
function convertUser(body: JsonObject, context: MessagesContext): Partial<ChatRequest> {
  const metadata = optionalObject(body, 'metadata', '') ?? {};
  const userId = optionalString(metadata, 'user_id', 'metadata') ?? '';
  if (userId === '') return {};
  if (!context.dialect.openAIExtras) {
    context.dropped.hint('metadata.user_id');
    return {};
  }
  const id = userId.length <= 64 ? userId : createHash('sha256').update(userId).digest('hex');
  return { user: id, safety_identifier: id };
}
