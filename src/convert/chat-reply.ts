import { contentText, type ReasoningPiece, readReasoning, refusalText } from './chat-content.ts';
import { type ChatToolCall, readToolCalls } from './chat-tool-calls.ts';
import { type ChatUsage, findUsage, noUsage, readUsage } from './chat-usage.ts';
import { type Finish, readFinish } from './finish-reason.ts';
import { isObject, type JsonObject, listOf, objectOf, textOf } from './json.ts';
import type { KeptPiece } from './kept-answer.ts';
import { isMediaAlone, noteUnreadBody, noteUnreadChoice, noteUnreadUsage } from './unread-answer.ts';
import { readReportedError } from './upstream-error.ts';
import { UpstreamFault } from './upstream-fault.ts';
import { readCitations, type UrlCitation } from './url-citations.ts';

/** A chat answer in one form, whatever the node's dialect. */
export interface ChatAnswer {
  readonly reasoning: readonly ReasoningPiece[];
  readonly text: string;
  /** The text as JSON, if the node wrote it without escapes: writing it again takes as long as reading all of the answer. */
  readonly textJson?: string | undefined;
  readonly refusal: string;
  readonly toolCalls: readonly ChatToolCall[];
  readonly citations: readonly UrlCitation[];
  /** Entries of `logprobs.content`, not checked. */
  readonly logprobs: readonly unknown[];
  readonly finish: Exclude<Finish, 'failed'>;
  /** vLLM's `stop_reason`: the stop string that was met. */
  readonly stopString: string | undefined;
  readonly usage: ChatUsage;
  readonly serviceTier: string | undefined;
  /** Signed or encrypted values of the node, except those of calls, for the next request. */
  readonly kept: readonly KeptPiece[];
  /** Labels, of a closed set, of parts of the answer that no format can carry. */
  readonly unread: ReadonlySet<string>;
}

/**
 * Reads a chat-completions reply. Only choice 0 is read. Throws an UpstreamFault if the body reports an error in spite of
 * its status 200, holds no choice, or says that it broke off. `json`: what the body was parsed from.
 */
export function readChatReply(body: unknown, json = ''): ChatAnswer {
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
  return readAnswer(body, choice, finish, json);
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

/** The stop string that was found, if the node reports it (vLLM). */
export function readStopString(choice: JsonObject): string | undefined {
  return textOf(choice['stop_reason']) || undefined;
}

/** What a whole message or a delta holds for the next request, without its calls. */
export function readKept(message: JsonObject, whole: boolean): readonly KeptPiece[] {
  const { extra_content: extra, reasoning_details: details } = message;
  if (extra === undefined && details === undefined) return nothingKept;
  const kept: KeptPiece[] = [];
  if (isObject(extra)) kept.push({ message: extra });
  const entries = listOf(details).filter(isObject);
  if (entries.length > 0) kept.push({ details: entries, whole });
  return kept;
}

const nothingKept: readonly KeptPiece[] = [];

/** The answer holds nothing that a conversion can carry, so it must not be reported as complete. */
export function mediaAlone(): UpstreamFault {
  return new UpstreamFault(
    'malformed',
    'The model server answered with images, audio or files alone, which the format of the request cannot carry here.',
  );
}

/**
 * The JSON of a text if it is in `json` without escapes. What follows `"content":` begins a string, because `json` is valid,
 * and without a quotation mark and a backslash the text is all of it.
 */
function writtenText(text: string, json: string): string | undefined {
  const key = json.indexOf('"content":"');
  if (key === -1 || text.includes('"') || text.includes('\\')) return undefined;
  const start = key + '"content":"'.length;
  const stop = start + text.length;
  return json.slice(start, stop) === text && json[stop] === '"' ? `"${text}"` : undefined;
}

function readAnswer(
  body: JsonObject,
  choice: JsonObject,
  finish: ChatAnswer['finish'],
  json: string,
): ChatAnswer {
  if (!isObject(choice['message']))
    throw new UpstreamFault('malformed', 'The model server sent a choice without a message.');
  const message = choice['message'];
  const unread = new Set<string>();
  noteUnreadBody(body, unread);
  noteUnreadChoice(choice, message, unread);
  const usage = findUsage(body, choice);
  noteUnreadUsage(usage, unread);
  const text = contentText(message['content']);
  const refusal = refusalText(message);
  const toolCalls = readToolCalls(message);
  if (text === '' && refusal === '' && toolCalls.length === 0 && isMediaAlone(unread)) throw mediaAlone();
  return {
    reasoning: readReasoning(message).pieces,
    text,
    textJson: writtenText(text, json),
    refusal,
    toolCalls,
    citations: readCitations(message),
    logprobs: listOf(objectOf(choice['logprobs'])['content']),
    finish,
    stopString: readStopString(choice),
    usage: usage === undefined ? noUsage : readUsage(usage),
    serviceTier: textOf(body['service_tier']) || undefined,
    kept: readKept(message, true),
    unread,
  };
}
