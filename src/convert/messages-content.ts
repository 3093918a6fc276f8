import type { ChatPart, ChatTextPart } from './chat-request.ts';
import type { ToolResult } from './chat-tool-results.ts';
import type { Fields } from './fields.ts';
import { limits } from './limits.ts';
import type { MessagesContext } from './messages-context.ts';
import { invalid, missing, unsupportedValue } from './request-fields.ts';
import { isUnreadText, joinTexts, noText, type UnreadText, unreadText } from './unread-text.ts';

/** A content block. */
export interface Block {
  readonly type: string;
  readonly fields: Fields;
}

/** The blocks of a member that is not one text. */
export function typedBlocks(blocks: readonly Fields[]): readonly Block[] {
  return blocks.map((fields) => ({ type: fields.neededText('type'), fields }));
}

/** History of tools that Anthropic's servers run, and changes of their tools: chat-completions has no form for them. */
const serverBlocks =
  /^(?:server_tool_use|container_upload|mcp_tool_use|mcp_tool_listing|tool_addition|tool_removal|browser_state|\w+_tool_result|tool_search_\w+|(?:web_fetch|code_execution|bash_code_execution|text_editor_code_execution)_\w+)$/;

/** Whether a block is history of a server-run tool. */
export function isServerBlock(type: string): boolean {
  return serverBlocks.test(type);
}

/** A block of a kind that is not allowed here, or unknown. */
export function unexpectedBlock({ type, fields }: Block): never {
  throw invalid(
    fields.path('type'),
    `Input tag '${type.slice(0, 60)}' does not match any of the expected tags`,
  );
}

/** The content of a block of a user or a tool: text, image, document, search_result. */
export function blockParts(block: Block, context: MessagesContext): readonly ChatPart[] {
  const { type, fields } = block;
  if (type === 'text') return textParts(blockText(fields));
  fields.hints(marks);
  if (type === 'image') return [imagePart(fields)];
  if (type === 'document') return documentParts(fields, context);
  if (type === 'search_result') return searchResultParts(fields);
  if (!isServerBlock(type)) return unexpectedBlock(block);
  fields.dropWhole('loss');
  return [];
}

const marks: ReadonlySet<string> = new Set(['cache_control']);
const textMarks: ReadonlySet<string> = new Set(['cache_control', 'citations']);

/** The text of a text block. Citations of earlier turns are not read, because they do not change the text. */
export function blockText(fields: Fields): UnreadText {
  fields.hints(textMarks);
  return fields.neededUnreadText('text');
}

/** Joins parts that are all text; undefined if there are others. */
export function onlyText(parts: readonly ChatPart[], separator: string): UnreadText | undefined {
  const texts = textsOf(parts);
  return texts.length === parts.length ? joinTexts(texts, separator) : undefined;
}

function textsOf(parts: readonly ChatPart[]): readonly UnreadText[] {
  return parts.filter(isText).map((part) => part.text);
}

/** A `tool_result`: its texts joined, images and files beside them, an error said in words. */
export function readToolResult(fields: Fields, context: MessagesContext): ToolResult {
  fields.hints(marks);
  const callId = fields.neededText('tool_use_id');
  const content = fields.unreadTextOrObjects('content', limits.parts) ?? noText;
  const failed = fields.flag('is_error') ?? false;
  const parts = isUnreadText(content)
    ? textParts(content)
    : typedBlocks(content).flatMap((block) => resultParts(block, context));
  const text = joinTexts(textsOf(parts), '\n');
  const media = parts.filter((part) => !isText(part));
  return { callId, text: failed ? unreadText(errorText(fields.read(text))) : text, media };
}

function resultParts(block: Block, context: MessagesContext): readonly ChatPart[] {
  if (block.type !== 'tool_reference') return blockParts(block, context);
  block.fields.hints(marks);
  return textParts(block.fields.neededUnreadText('tool_name'));
}

/** Chat has no error flag; a text that already says so is left as it is. */
function errorText(text: string): string {
  if (text.trim() === '') return 'Error';
  return /^[<[(]?\s*(?:tool_use_)?error\b/i.test(text.trimStart()) ? text : `Error: ${text}`;
}

function isText(part: ChatPart): part is ChatTextPart {
  return part.type === 'text';
}

function textParts(text: UnreadText): readonly ChatPart[] {
  return text === noText ? [] : [{ type: 'text', text }];
}

function imagePart(fields: Fields): ChatPart {
  // The node scales an image that is too large, or refuses it.
  fields.object('transformations')?.lossUnless('oversized_image', 'downsize');
  const source = fields.neededObject('source');
  const type = source.neededText('type');
  if (type === 'base64') return { type: 'image_url', image_url: { url: dataUrl(source) } };
  if (type === 'url') return { type: 'image_url', image_url: { url: source.neededUnreadText('url') } };
  throw unsupportedValue(
    source.path('type'),
    `Image sources of type '${type.slice(0, 40)}' are not supported here; send base64 or url`,
  );
}

function dataUrl(source: Fields): UnreadText {
  const start = unreadText(`data:${source.neededText('media_type')};base64,`);
  return joinTexts([start, source.neededUnreadText('data')], '');
}

function documentParts(fields: Fields, context: MessagesContext): readonly ChatPart[] {
  const source = fields.neededObject('source');
  const type = source.neededText('type');
  loseCitations(fields);
  const title = fields.text('title');
  const named = title === undefined ? undefined : unreadText(title);
  const intro = [named, fields.unreadText('context')].filter(isSaid);
  if (type === 'text') {
    source.lossUnless('media_type', 'text/plain');
    return textParts(joinTexts([...intro, source.neededUnreadText('data')], '\n'));
  }
  if (type === 'content') return [...textParts(joinTexts(intro, '\n')), ...sourceParts(source, context)];
  if (type !== 'base64')
    throw unsupportedValue(
      source.path('type'),
      `Document sources of type '${type.slice(0, 40)}' are not supported here; send text, content or base64`,
    );
  if (!context.dialect.files)
    throw unsupportedValue(
      source.at,
      'PDF documents are not supported by the model server; send the text of the document',
    );
  const file = { filename: title ?? 'document.pdf', file_data: dataUrl(source) };
  return [...textParts(joinTexts(intro.slice(title === undefined ? 0 : 1), '\n')), { type: 'file', file }];
}

/** Reads the parts of a document: only texts and images, so that documents cannot be nested. */
function sourceParts(source: Fields, context: MessagesContext): readonly ChatPart[] {
  const content = source.unreadTextOrObjects('content', limits.parts);
  if (content === undefined) throw missing(source.path('content'));
  if (isUnreadText(content)) return textParts(content);
  return typedBlocks(content).flatMap((block) =>
    block.type === 'text' || block.type === 'image' ? blockParts(block, context) : unexpectedBlock(block),
  );
}

function searchResultParts(fields: Fields): readonly ChatPart[] {
  loseCitations(fields);
  const lines = [fields.unreadText('title'), fields.unreadText('source')];
  for (const item of fields.objects('content', limits.parts) ?? []) {
    item.lossUnless('type', 'text');
    lines.push(blockText(item));
  }
  return textParts(joinTexts(lines.filter(isSaid), '\n'));
}

function isSaid(text: UnreadText | undefined): text is UnreadText {
  return text !== undefined && text !== noText;
}

/** Nodes do not report the passage that they cite. */
function loseCitations(fields: Fields): void {
  fields.object('citations')?.lossUnless('enabled');
}
