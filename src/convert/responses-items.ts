import { isObject, type JsonObject, listOf, parseJson } from './json.ts';
import { readSearchArguments } from './responses-tool-search.ts';
import type { ToolOrigin } from './tool-names.ts';
import type { UrlCitation } from './url-citations.ts';

// The output items of a response (responses.md), for whole replies and for streams alike.

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export interface OutputTextPart {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations: readonly object[];
  readonly logprobs: readonly object[];
}

export interface RefusalPart {
  readonly type: 'refusal';
  readonly refusal: string;
}

export type MessagePart = OutputTextPart | RefusalPart;

/** An item of `output`. */
export interface ResponsesItem {
  readonly type: string;
  readonly id: string;
  readonly [field: string]: unknown;
}

/** What is known of a call before its arguments. */
export interface CallIdentity {
  readonly id: string;
  readonly callId: string;
  readonly origin: ToolOrigin;
}

export function outputTextPart(
  text: string,
  annotations: readonly object[] = [],
  logprobs: readonly object[] = [],
): OutputTextPart {
  return { type: 'output_text', text, annotations, logprobs };
}

/** The item of type `message`: only `messageItem` makes it. */
interface MessageItem extends ResponsesItem {
  readonly status: ItemStatus;
  readonly content: readonly MessagePart[];
}

export function messageItem(id: string, status: ItemStatus, content: readonly MessagePart[]): MessageItem {
  return { type: 'message', id, status, role: 'assistant', content };
}

/**
 * The items as JSON text. Nearly every answer is one message of one text without annotations: it is put together, because
 * `JSON.stringify` of the objects around a text takes as long as of the text. `text`: that text as JSON, if it is known.
 */
export function itemsJson(items: readonly ResponsesItem[], text?: string): string {
  const [item] = items;
  if (item?.type !== 'message' || items.length > 1) return JSON.stringify(items);
  const { id, status, content } = item as MessageItem;
  const [part] = content;
  const isPlain =
    part?.type === 'output_text' &&
    content.length === 1 &&
    part.annotations.length === 0 &&
    part.logprobs.length === 0;
  if (!isPlain) return JSON.stringify(items);
  return (
    `[{"type":"message","id":"${id}","status":"${status}","role":"assistant"` +
    `,"content":[{"type":"output_text","text":${text ?? JSON.stringify(part.text)},"annotations":[],"logprobs":[]}]}]`
  );
}

/** The content of a reasoning item; while both members are undefined there is none. */
export interface ReasoningContent {
  readonly text?: string | undefined;
  /** Signed or encrypted values that the node needs with the next request (kept-signatures.ts). */
  readonly encrypted?: string | undefined;
}

/** Reasoning as a summary if the request asked for one, else as text. */
export function reasoningItem(
  id: string,
  status: ItemStatus,
  { text, encrypted }: ReasoningContent,
  summarized: boolean,
): ResponsesItem {
  const said = text === undefined ? [] : [text];
  const sealed = encrypted === undefined ? {} : { encrypted_content: encrypted };
  if (summarized) {
    const summary = said.map((part) => ({ type: 'summary_text', text: part }));
    return { type: 'reasoning', id, status, summary, ...sealed };
  }
  const content = said.map((part) => ({ type: 'reasoning_text', text: part }));
  return { type: 'reasoning', id, status, summary: [], content, ...sealed };
}

/** A call of a function, a free-text tool or the caller's search, under the name and namespace that the caller knows. */
export function callItem(call: CallIdentity, status: ItemStatus, text: string): ResponsesItem {
  const { id, callId, origin } = call;
  if (origin.search === true) {
    const searched = { execution: 'client', arguments: readSearchArguments(text), status };
    return { type: 'tool_search_call', id, call_id: callId, ...searched };
  }
  const namespace = origin.namespace === undefined ? {} : { namespace: origin.namespace };
  const named = { call_id: callId, name: origin.name, ...namespace };
  return origin.custom === true
    ? { type: 'custom_tool_call', id, ...named, input: text, ...(status === 'in_progress' ? {} : { status }) }
    : { type: 'function_call', id, ...named, arguments: text, status };
}

/** The prefix of the ids of a call's items. */
export function callPrefix(origin: ToolOrigin): string {
  if (origin.search === true) return 'tsc_';
  return origin.custom === true ? 'ctc_' : 'fc_';
}

/** Missing arguments become an empty object, because clients parse them. */
export function wholeArguments(text: string): string {
  return text.trim() === '' ? `${text}{}` : text;
}

/** The text in `input` of a free-text tool's arguments; the arguments themselves if they are not such an object. */
export function customInput(text: string): string {
  const value = parseJson(text);
  return isObject(value) && typeof value['input'] === 'string' ? value['input'] : text;
}

export function urlCitation(citation: UrlCitation): object {
  const { startIndex, endIndex, url, title } = citation;
  return { type: 'url_citation', start_index: startIndex, end_index: endIndex, url, title };
}

/** Entries of chat `logprobs.content` with every field that the vendor's types promise; others are passed over. */
export function outputLogprobs(entries: readonly unknown[]): readonly object[] {
  return entries.flatMap((entry) => {
    if (!isObject(entry)) return [];
    const own = tokenOf(entry);
    const alternatives = listOf(entry['top_logprobs']).filter(isObject).flatMap(tokenOf);
    return own.map((token) => ({ ...token, top_logprobs: alternatives }));
  });
}

function tokenOf(entry: JsonObject): readonly object[] {
  const { token, logprob, bytes } = entry;
  if (typeof token !== 'string' || typeof logprob !== 'number') return [];
  return [{ token, logprob, bytes: listOf(bytes).filter((byte) => typeof byte === 'number') }];
}
