import type { ChatPart, ChatTextPart } from './chat-request.ts';
import type { Fields } from './fields.ts';
import { limits } from './limits.ts';
import { invalid, missing, unsupportedValue } from './request-fields.ts';
import type { ResponsesContext } from './responses-state.ts';
import { isUnreadText, joinTexts, noText, type UnreadText } from './unread-text.ts';

/** What an assistant said in an earlier turn. */
export interface AssistantContent {
  readonly text: UnreadText;
  readonly refusal: string;
}

/** What a tool gave back: its texts, and images or files beside them. */
export interface OutputContent {
  readonly text: UnreadText;
  readonly media: readonly ChatPart[];
}

/** Marks of prompt caching; sources and log probabilities of what was said. */
const marks: ReadonlySet<string> = new Set(['prompt_cache_breakpoint', 'annotations', 'logprobs']);

/** The content of a user message: one text if it has only text, because many servers accept no list. */
export function userContent(owner: Fields, context: ResponsesContext) {
  const content = readParts(owner, 'content');
  if (isUnreadText(content)) return content;
  const parts = content.map((part) => mediaPart(part, context) ?? textPart(part));
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (texts.length === parts.length) return joinTexts(texts, '\n');
  // An empty text beside an image has no meaning, and many servers refuse it.
  return parts.filter((part) => part.type !== 'text' || part.text !== noText);
}

/** The text of a system or developer message. */
export function systemContent(owner: Fields): UnreadText {
  const content = readParts(owner, 'content');
  if (isUnreadText(content)) return content;
  return joinTexts(
    content.map((part) => textPart(part).text),
    '\n',
  );
}

/** The content of an assistant message: one text, one refusal. */
export function assistantContent(owner: Fields): AssistantContent {
  const content = readParts(owner, 'content');
  if (isUnreadText(content)) return { text: content, refusal: '' };
  const said: UnreadText[] = [];
  let refusal = '';
  for (const part of content) {
    if (part.type === 'refusal') refusal += part.fields.neededText('refusal');
    else said.push(textPart(part).text);
  }
  return { text: joinTexts(said, ''), refusal };
}

/** The `output` of a tool: text as it is, or parts. */
export function outputContent(owner: Fields, context: ResponsesContext): OutputContent {
  const content = readParts(owner, 'output');
  if (isUnreadText(content)) return { text: content, media: [] };
  const texts: UnreadText[] = [];
  const media: ChatPart[] = [];
  for (const part of content) {
    const other = mediaPart(part, context);
    if (other === undefined) texts.push(textPart(part).text);
    else media.push(other);
  }
  return { text: joinTexts(texts, '\n'), media };
}

/** One content part. */
interface Part {
  readonly type: string;
  readonly fields: Fields;
}

function readParts(owner: Fields, key: string): UnreadText | readonly Part[] {
  const content = owner.unreadTextOrObjects(key, limits.parts);
  if (content === undefined) throw missing(owner.path(key));
  if (isUnreadText(content)) return content;
  return content.map((fields) => ({ type: fields.neededText('type'), fields }));
}

function textPart({ type, fields }: Part): ChatTextPart {
  if (!texts.has(type))
    throw invalid(fields.path('type'), `Content of type '${type.slice(0, 60)}' is not allowed here`);
  fields.hints(marks);
  return { type: 'text', text: fields.neededUnreadText('text') };
}

const texts: ReadonlySet<string> = new Set(['input_text', 'output_text', 'text']);

/** An image, a file or audio; undefined for anything else. */
function mediaPart({ type, fields }: Part, context: ResponsesContext): ChatPart | undefined {
  fields.hints(marks);
  if (type === 'input_image') return imagePart(fields, context);
  if (type === 'input_file') return filePart(fields, context);
  return type === 'input_audio' ? audioPart(fields) : undefined;
}

function imagePart(fields: Fields, { dropped }: ResponsesContext): ChatPart {
  const url = fields.unreadText('image_url');
  if (url === undefined) throw notStored(fields, ['file_id']) ?? missing(fields.path('image_url'));
  const detail = fields.text('detail');
  if (detail === undefined) return { type: 'image_url', image_url: { url } };
  if (!details.has(detail))
    throw invalid(fields.path('detail'), "Supported values are: 'low', 'high', 'auto' and 'original'");
  // `high` is the highest level of chat-completions.
  if (detail === 'original') dropped.loss(fields.path('detail'));
  return { type: 'image_url', image_url: { url, detail: detail === 'original' ? 'high' : detail } };
}

const details: ReadonlySet<string> = new Set(['low', 'high', 'auto', 'original']);

function filePart(fields: Fields, { dialect }: ResponsesContext): ChatPart {
  const data = fields.unreadText('file_data');
  if (data === undefined)
    throw notStored(fields, ['file_id', 'file_url']) ?? missing(fields.path('file_data'));
  if (!dialect.files)
    throw unsupportedValue(fields.path('type'), 'The model server takes no files; send their text instead');
  fields.lossUnless('detail', 'auto');
  return { type: 'file', file: { filename: fields.text('filename') ?? 'file', file_data: data } };
}

/** Files that the vendor stores or fetches; the gateway does neither. */
function notStored(fields: Fields, keys: readonly string[]) {
  const key = keys.find((name) => fields.text(name) !== undefined);
  return key === undefined
    ? undefined
    : unsupportedValue(fields.path(key), 'Files are not stored or fetched here; send the data itself');
}

function audioPart(fields: Fields): ChatPart {
  const audio = fields.neededObject('input_audio');
  const data = audio.neededUnreadText('data');
  return { type: 'input_audio', input_audio: { data, format: audio.neededText('format') } };
}

/** The text of a reasoning item: its own, else the summary; '' if there is only the encrypted form. */
export function reasoningText(owner: Fields): string {
  return textsOf(owner, 'content') || textsOf(owner, 'summary');
}

function textsOf(owner: Fields, key: string): string {
  const texts = (owner.objects(key, limits.parts) ?? []).map((part) => {
    part.unneeded('type');
    return part.text('text') ?? '';
  });
  return texts.filter((text) => text !== '').join('\n');
}
