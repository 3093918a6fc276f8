import type { ChatPart, ChatTextPart } from './chat-request.ts';
import type { ToolResult } from './chat-tool-results.ts';
import type { JsonObject } from './json.ts';
import { limits } from './limits.ts';
import { hintFields, type MessagesContext } from './messages-context.ts';
import {
  asList,
  asObject,
  invalid,
  optionalBoolean,
  optionalList,
  optionalObject,
  optionalString,
  pathOf,
  required,
  requiredString,
  unsupportedValue,
} from './request-fields.ts';

/** A content block with its path. */
export interface Block {
  readonly type: string;
  readonly fields: JsonObject;
  readonly at: string;
}

/** The blocks of a message's or block's `content`; a string is one text block, '' none. */
export function readBlocks(content: unknown, at: string): readonly Block[] {
  if (typeof content === 'string')
    return content === '' ? [] : [{ type: 'text', fields: { text: content }, at }];
  return asList(content, at, limits.parts).map((item, index) => {
    const path = pathOf(at, index);
    const fields = asObject(item, path);
    return { type: requiredString(fields, 'type', path), fields, at: path };
  });
}

/** History of tools that Anthropic's servers run: nothing of it can be told to a node. */
const serverBlocks =
  /^(?:server_tool_use|container_upload|compaction|mcp_tool_use|\w+_tool_result|tool_search_\w+|(?:web_fetch|code_execution|bash_code_execution|text_editor_code_execution)_\w+)$/;

/** Whether a block is history of a server-run tool. */
export function isServerBlock(type: string): boolean {
  return serverBlocks.test(type);
}

/** A block of a kind that does not stand here, or that nobody knows. */
export function unexpectedBlock({ type, at }: Block): never {
  throw invalid(
    pathOf(at, 'type'),
    `Input tag '${type.slice(0, 60)}' does not match any of the expected tags`,
  );
}

/** What a block that people or tools write says to the model: text, image, document, search_result. */
export function blockParts(block: Block, context: MessagesContext): readonly ChatPart[] {
  const { type, fields, at } = block;
  hintFields(fields, at, ['cache_control'], context.dropped);
  if (type === 'text') {
    hintFields(fields, at, ['citations'], context.dropped);
    return textParts(requiredString(fields, 'text', at));
  }
  if (type === 'image') return [imagePart(fields, at)];
  if (type === 'document') return documentParts(fields, at, context);
  if (type === 'search_result') return searchResultParts(fields, at);
  if (!isServerBlock(type)) return unexpectedBlock(block);
  context.dropped.loss(at);
  return [];
}

/** Joins parts that are all text; undefined where others are among them. */
export function joinTexts(parts: readonly ChatPart[], separator: string): string | undefined {
  const texts = parts.filter(isText);
  return texts.length === parts.length ? texts.map((part) => part.text).join(separator) : undefined;
}

/** A `tool_result`: its texts joined, images and files beside them, an error said in words. */
export function readToolResult({ fields, at }: Block, context: MessagesContext): ToolResult {
  hintFields(fields, at, ['cache_control'], context.dropped);
  const callId = requiredString(fields, 'tool_use_id', at);
  const content = fields['content'] ?? '';
  const parts = readBlocks(content, pathOf(at, 'content')).flatMap((block) => resultParts(block, context));
  const text = parts
    .filter(isText)
    .map((part) => part.text)
    .join('\n');
  const media = parts.filter((part) => !isText(part));
  const failed = optionalBoolean(fields, 'is_error', at) ?? false;
  return { callId, text: failed ? errorText(text) : text, media };
}

function resultParts(block: Block, context: MessagesContext): readonly ChatPart[] {
  if (block.type === 'tool_reference') return textParts(requiredString(block.fields, 'tool_name', block.at));
  return blockParts(block, context);
}

/** Chat has no error flag; a text that already says so is left as it is. */
function errorText(text: string): string {
  if (text.trim() === '') return 'Error';
  return /^[<[(]?\s*(?:tool_use_)?error\b/i.test(text.trimStart()) ? text : `Error: ${text}`;
}

function isText(part: ChatPart): part is ChatTextPart {
  return part.type === 'text';
}

function textParts(text: string): readonly ChatPart[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

function imagePart(fields: JsonObject, at: string): ChatPart {
  const path = pathOf(at, 'source');
  const source = asObject(required(fields, 'source', at), path);
  const type = requiredString(source, 'type', path);
  if (type === 'base64') return { type: 'image_url', image_url: { url: dataUrl(source, path) } };
  if (type === 'url') return { type: 'image_url', image_url: { url: requiredString(source, 'url', path) } };
  throw unsupportedValue(
    pathOf(path, 'type'),
    `Image sources of type '${type.slice(0, 40)}' are not supported here; send base64 or url`,
  );
}

function dataUrl(source: JsonObject, path: string): string {
  return `data:${requiredString(source, 'media_type', path)};base64,${requiredString(source, 'data', path)}`;
}

function documentParts(fields: JsonObject, at: string, context: MessagesContext): readonly ChatPart[] {
  const path = pathOf(at, 'source');
  const source = asObject(required(fields, 'source', at), path);
  const type = requiredString(source, 'type', path);
  const citations = optionalObject(fields, 'citations', at);
  if (citations?.['enabled'] === true) context.dropped.loss(pathOf(at, 'citations'));
  const title = optionalString(fields, 'title', at);
  const intro = [title, optionalString(fields, 'context', at)].filter(
    (text) => text !== undefined && text !== '',
  );
  if (type === 'text') return textParts([...intro, requiredString(source, 'data', path)].join('\n'));
  if (type === 'content') {
    const blocks = readBlocks(required(source, 'content', path), pathOf(path, 'content'));
    return [...textParts(intro.join('\n')), ...blocks.flatMap((block) => plainParts(block, context))];
  }
  if (type !== 'base64')
    throw unsupportedValue(
      pathOf(path, 'type'),
      `Document sources of type '${type.slice(0, 40)}' are not supported here; send text, content or base64`,
    );
  if (!context.dialect.files)
    throw unsupportedValue(
      path,
      'PDF documents are not supported by the model server; send the text of the document',
    );
  const file = { filename: title ?? 'document.pdf', file_data: dataUrl(source, path) };
  return [...textParts(intro.slice(title === undefined ? 0 : 1).join('\n')), { type: 'file', file }];
}

/** Inside a document stand only texts and images: no way to nest documents without end. */
function plainParts(block: Block, context: MessagesContext): readonly ChatPart[] {
  return block.type === 'text' || block.type === 'image'
    ? blockParts(block, context)
    : unexpectedBlock(block);
}

function searchResultParts(fields: JsonObject, at: string): readonly ChatPart[] {
  const texts = optionalList(fields, 'content', at, limits.parts) ?? [];
  const lines = [optionalString(fields, 'title', at), optionalString(fields, 'source', at)];
  for (const [index, item] of texts.entries()) {
    const path = pathOf(pathOf(at, 'content'), index);
    lines.push(requiredString(asObject(item, path), 'text', path));
  }
  return textParts(lines.filter((line) => line !== undefined && line !== '').join('\n'));
}
