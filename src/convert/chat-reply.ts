import { contentText, type ReasoningPiece, readReasoning } from './chat-content.ts';
import { type ChatToolCall, readToolCalls } from './chat-tool-calls.ts';
import { type ChatUsage, noUsage, readUsage } from './chat-usage.ts';
import { type Finish, readFinish } from './finish-reason.ts';
import { isObject, type JsonObject, listOf, objectOf, textOf } from './json.ts';
import { readReportedError } from './upstream-error.ts';
import { UpstreamFault } from './upstream-fault.ts';
import { readCitations, type UrlCitation } from './url-citations.ts';

/** A chat answer, read once, whatever dialect the node writes. */
export interface ChatAnswer {
  readonly reasoning: readonly ReasoningPiece[];
  readonly text: string;
  readonly refusal: string;
  readonly toolCalls: readonly ChatToolCall[];
  readonly citations: readonly UrlCitation[];
  /** Entries of `logprobs.content`, unread. */
  readonly logprobs: readonly unknown[];
  readonly finish: Exclude<Finish, 'failed'>;
  /** vLLM's `stop_reason`: the stop string that was met. */
  readonly stopString: string | undefined;
  readonly usage: ChatUsage;
  readonly serviceTier: string | undefined;
}

/**
 * Reads a chat-completions reply. Only choice 0 counts. Throws an UpstreamFault where the body
 * reports an error in spite of its status 200, holds no choice, or says that it broke off.
 */
export function readChatReply(body: unknown): ChatAnswer {
  const reported = readReportedError(body);
  if (reported !== undefined) throw reported;
  if (!isObject(body)) throw new UpstreamFault('malformed', 'The model server sent no chat completion.');
  const choice = firstChoice(body);
  if (choice === undefined)
    throw new UpstreamFault('empty', 'The model server sent an answer without choices.');
  const broken = readReportedError(choice);
  if (broken !== undefined) throw broken;
  const finish = readFinish(choice['finish_reason']);
  if (finish === 'failed') throw brokenOff();
  return readAnswer(body, choice, finish);
}

/** The node said that it could not finish: `finish_reason: error` and the like. */
export function brokenOff(): UpstreamFault {
  return new UpstreamFault('reported', 'The model server could not finish its answer.');
}

/** The choice of index 0, or the first one that has no index. */
export function firstChoice(body: JsonObject): JsonObject | undefined {
  for (const choice of listOf(body['choices']))
    if (isObject(choice) && (choice['index'] ?? 0) === 0) return choice;
  return undefined;
}

/** The stop string that was met, where the node tells (vLLM). */
export function readStopString(choice: JsonObject): string | undefined {
  return textOf(choice['stop_reason']) || undefined;
}

function readAnswer(body: JsonObject, choice: JsonObject, finish: ChatAnswer['finish']): ChatAnswer {
  if (!isObject(choice['message']))
    throw new UpstreamFault('malformed', 'The model server sent a choice without a message.');
  const message = choice['message'];
  return {
    reasoning: readReasoning(message).pieces,
    text: contentText(message['content']),
    refusal: textOf(message['refusal']),
    toolCalls: readToolCalls(message),
    citations: readCitations(message),
    logprobs: listOf(objectOf(choice['logprobs'])['content']),
    finish,
    stopString: readStopString(choice),
    usage: readUsage(body, choice) ?? noUsage,
    serviceTier: textOf(body['service_tier']) || undefined,
  };
}
