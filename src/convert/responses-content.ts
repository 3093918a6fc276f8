import type { ChatPart } from './chat-request.ts';
import type { JsonObject } from './json.ts';
import { limits } from './limits.ts';
import {
  asList,
  asObject,
  asString,
  invalid,
  missing,
  optionalString,
  pathOf,
  required,
  requiredString,
  unsupportedValue,
} from './request-fields.ts';
import type { ResponsesContext } from './responses-state.ts';

/** What an assistant said in an earlier turn. */
export interface AssistantContent {
  readonly text: string;
  readonly refusal: string;
}

/** What a tool gave back: its texts, and images or files beside them. */
export interface OutputContent {
  readonly text: string;
  readonly media: readonly ChatPart[];
}

/** One content part with its place. */
interface Part {
  readonly type: string;
  readonly fields: JsonObject;
  readonly at: string;
}

/** The content of a user message: text where it is nothing else, since many servers take no list. */
export function userContent(owner: JsonObject, at: string, context: ResponsesContext) {
  const { content } = owner;
  if (typeof content === 'string') return content;
  const parts = readParts(owner, 'content', at).map((part) => mediaPart(part, context) ?? textPart(part));
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (texts.length === parts.length) return texts.join('\n');
  // Beside an image an empty text says nothing, and many servers refuse it.
  return parts.filter((part) => part.type !== 'text' || part.text !== '');
}

/** The text of a system or developer message. */
export function systemContent(owner: JsonObject, at: string): string {
  return readParts(owner, 'content', at)
    .map((part) => textPart(part).text)
    .join('\n');
}

/** The content of an assistant message: one text, one refusal. */
export function assistantContent(owner: JsonObject, at: string): AssistantContent {
  let text = '';
  let refusal = '';
  for (const part of readParts(owner, 'content', at)) {
    if (part.type === 'refusal') refusal += requiredString(part.fields, 'refusal', part.at);
    else text += textPart(part).text;
  }
  return { text, refusal };
}

/** The `output` of a tool: text as it is, or parts. */
export function outputContent(owner: JsonObject, at: string, context: ResponsesContext): OutputContent {
  const texts: string[] = [];
  const media: ChatPart[] = [];
  for (const part of readParts(owner, 'output', at)) {
    const other = mediaPart(part, context);
    if (other === undefined) texts.push(textPart(part).text);
    else media.push(other);
  }
  return { text: texts.join('\n'), media };
}

function readParts(owner: JsonObject, key: string, at: string): readonly Part[] {
  const path = pathOf(at, key);
  const content = required(owner, key, at);
  if (typeof content === 'string') return [{ type: 'input_text', fields: { text: content }, at: path }];
  return asList(content, path, limits.parts).map((item, index) => {
    const partAt = pathOf(path, index);
    const fields = asObject(item, partAt);
    return { type: requiredString(fields, 'type', partAt), fields, at: partAt };
  });
}

function textPart({ type, fields, at }: Part) {
  if (type === 'input_text' || type === 'output_text' || type === 'text')
    return { type: 'text', text: requiredString(fields, 'text', at) } as const;
  throw invalid(pathOf(at, 'type'), `Content of type '${type.slice(0, 60)}' is not allowed here`);
}

/** An image, a file or audio; undefined for anything else. */
function mediaPart({ type, fields, at }: Part, context: ResponsesContext): ChatPart | undefined {
  if (type === 'input_image') return imagePart(fields, at);
  if (type === 'input_file') return filePart(fields, at, context);
  return type === 'input_audio' ? audioPart(fields, at) : undefined;
}

function imagePart(fields: JsonObject, at: string): ChatPart {
  const url = optionalString(fields, 'image_url', at);
  if (url === undefined) throw notStored(fields, ['file_id'], at) ?? missing(pathOf(at, 'image_url'));
  const detail = optionalString(fields, 'detail', at);
  if (detail === undefined) return { type: 'image_url', image_url: { url } };
  if (!details.has(detail))
    throw invalid(pathOf(at, 'detail'), "Supported values are: 'low', 'high', 'auto' and 'original'");
  return { type: 'image_url', image_url: { url, detail: detail === 'original' ? 'high' : detail } };
}

const details: ReadonlySet<string> = new Set(['low', 'high', 'auto', 'original']);

function filePart(fields: JsonObject, at: string, { dialect }: ResponsesContext): ChatPart {
  const data = optionalString(fields, 'file_data', at);
  if (data === undefined)
    throw notStored(fields, ['file_id', 'file_url'], at) ?? missing(pathOf(at, 'file_data'));
  if (!dialect.files)
    throw unsupportedValue(pathOf(at, 'type'), 'The model server takes no files; send their text instead');
  const filename = optionalString(fields, 'filename', at) ?? 'file';
  return { type: 'file', file: { filename, file_data: data } };
}

/** Files that the vendor keeps or fetches; here nobody does. */
function notStored(fields: JsonObject, keys: readonly string[], at: string) {
  const key = keys.find((name) => optionalString(fields, name, at) !== undefined);
  return key === undefined
    ? undefined
    : unsupportedValue(pathOf(at, key), 'Files are not stored or fetched here; send the data itself');
}

function audioPart(fields: JsonObject, at: string): ChatPart {
  const path = pathOf(at, 'input_audio');
  const audio = asObject(required(fields, 'input_audio', at), path);
  const data = requiredString(audio, 'data', path);
  return { type: 'input_audio', input_audio: { data, format: requiredString(audio, 'format', path) } };
}

/** The text of a reasoning item: its own, else the summary; '' where only the encrypted form is there. */
export function reasoningText(owner: JsonObject, at: string): string {
  return textsOf(owner, 'content', at) || textsOf(owner, 'summary', at);
}

function textsOf(owner: JsonObject, key: string, at: string): string {
  const value = owner[key];
  if (value === undefined || value === null) return '';
  const path = pathOf(at, key);
  const texts = asList(value, path, limits.parts).map((item, index) => {
    const partAt = pathOf(path, index);
    return asString(asObject(item, partAt)['text'] ?? '', pathOf(partAt, 'text'));
  });
  return texts.filter((text) => text !== '').join('\n');
}
