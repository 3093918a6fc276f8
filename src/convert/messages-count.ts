import type { ChatMessage, ChatPart, ChatRequest } from './chat-request.ts';
import { imageSize } from './image-size.ts';
import { isObject } from './json.ts';
import { isUnreadText, unmarkedText } from './unread-text.ts';

/** Tokens of an image whose size is unknown, and the most that one counts. */
const imageTokens = 1_600;

/**
 * Estimates the tokens of a converted request (messages.md): a token per 4 characters, per 1.5 for CJK, over
 * system, messages and tools; 4 per message; images by size. At least 1: a zero would mislead the caller's budget.
 */
export function estimateTokens(chat: ChatRequest): number {
  let tokens = 0;
  for (const message of chat.messages) tokens += 4 + messageTokens(message);
  if (chat.tools !== undefined) tokens += textTokens(JSON.stringify(chat.tools));
  if (chat.response_format !== undefined) tokens += textTokens(JSON.stringify(chat.response_format));
  return Math.max(1, Math.ceil(tokens));
}

/** The reply to `POST /v1/messages/count_tokens`. */
export function countTokensReply(tokens: number): { readonly input_tokens: number } {
  return { input_tokens: Math.max(1, Math.ceil(tokens)) };
}

/** The body for vLLM's `POST /tokenize`. */
export function tokenizeRequest({ model, messages, tools }: ChatRequest): object {
  return { model, messages, ...(tools === undefined ? {} : { tools }), add_generation_prompt: true };
}

/** The count in vLLM's answer; undefined if there is none. */
export function readTokenizeReply(body: unknown): number | undefined {
  const count = isObject(body) ? body['count'] : undefined;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

function messageTokens(message: ChatMessage): number {
  let tokens = 0;
  if (isUnreadText(message.content)) tokens += textTokens(unmarkedText(message.content));
  else for (const part of message.content ?? []) tokens += partTokens(part);
  if (message.role !== 'assistant') return tokens;
  tokens += textTokens(message.reasoning_content ?? message.reasoning ?? '');
  for (const { function: called } of message.tool_calls ?? [])
    tokens += textTokens(called.name) + textTokens(called.arguments);
  return tokens;
}

function partTokens(part: ChatPart): number {
  if (part.type === 'text') return textTokens(unmarkedText(part.text));
  if (part.type === 'image_url') return urlTokens(unmarkedText(part.image_url.url));
  // A PDF page of text is a few kilobytes; a better estimate would need to read it.
  return part.type === 'file'
    ? unmarkedText(part.file.file_data).length / 16
    : unmarkedText(part.input_audio.data).length / 640;
}

function urlTokens(url: string): number {
  const base64 = /^data:[^,]{0,100};base64,/.exec(url);
  const size = base64 === null ? undefined : imageSize(url.slice(base64[0].length));
  return size === undefined ? imageTokens : Math.min(imageTokens, (size.width * size.height) / 750);
}

function textTokens(text: string): number {
  let dense = 0;
  for (let at = 0; at < text.length; at++) if (isDense(text.charCodeAt(at))) dense += 1;
  return dense / 1.5 + (text.length - dense) / 4;
}

/** Whether a character is of a script that takes about a token per 1.5 characters: Chinese, Japanese, Korean. */
function isDense(code: number): boolean {
  if (code < 0x1100) return false;
  return code <= 0x11ff || (code >= 0x2e80 && code <= 0xd7ff) || (code >= 0xf900 && code <= 0xffef);
}
