import type { ChatPart, ChatTextPart } from './chat-request.ts';
import type { ToolResult } from './chat-tool-results.ts';
import type { Fields } from './fields.ts';
import { limits } from './limits.ts';
import type { MessagesContext } from './messages-context.ts';
import { invalid, missing, unsupportedValue } from './request-fields.ts';

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

/** The text of a text block. Citations of earlier turns say where it came from, not what it says. */
export function blockText(fields: Fields): string {
  fields.hints(textMarks);
  return fields.neededText('text');
}

/** Joins parts that are all text; undefined where others are among them. */
export function joinTexts(parts: readonly ChatPart[], separator: string): string | undefined {
  const texts = parts.filter(isText);
  return texts.length === parts.length ? texts.map((part) => part.text).join(separator) : undefined;
}

/** A `tool_result`: its texts joined, images and files beside them, an error said in words. */
export function readToolResult(fields: Fields, context: MessagesContext): ToolResult {
  fields.hints(marks);
  const callId = fields.neededText('tool_use_id');
  const content = fields.textOrObjects('content', limits.parts) ?? '';
  const failed = fields.flag('is_error') ?? false;
  if (typeof content === 'string') return { callId, text: failed ? errorText(content) : content, media: [] };
  const parts = typedBlocks(content).flatMap((block) => resultParts(block, context));
  const text = parts
    .filter(isText)
    .map((part) => part.text)
    .join('\n');
  const media = parts.filter((part) => !isText(part));
  return { callId, text: failed ? errorText(text) : text, media };
}

function resultParts(block: Block, context: MessagesContext): readonly ChatPart[] {
  if (block.type !== 'tool_reference') return blockParts(block, context);
  block.fields.hints(marks);
  return textParts(block.fields.neededText('tool_name'));
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

function imagePart(fields: Fields): ChatPart {
  // The node scales an image that is too large, or refuses it.
  fields.object('transformations')?.lossUnless('oversized_image', 'downsize');
  const source = fields.neededObject('source');
  const type = source.neededText('type');
  if (type === 'base64') return { type: 'image_url', image_url: { url: dataUrl(source) } };
  if (type === 'url') return { type: 'image_url', image_url: { url: source.neededText('url') } };
  throw unsupportedValue(
    source.path('type'),
    `Image sources of type '${type.slice(0, 40)}' are not supported here; send base64 or url`,
  );
}

function dataUrl(source: Fields): string {
  return `data:${source.neededText('media_type')};base64,${source.neededText('data')}`;
}

function documentParts(fields: Fields, context: MessagesContext): readonly ChatPart[] {
  const source = fields.neededObject('source');
  const type = source.neededText('type');
  loseCitations(fields);
  const title = fields.text('title');
  const intro = [title, fields.text('context')].filter((text) => text !== undefined && text !== '');
  if (type === 'text') {
    source.lossUnless('media_type', 'text/plain');
    return textParts([...intro, source.neededText('data')].join('\n'));
  }
  if (type === 'content') return [...textParts(intro.join('\n')), ...sourceParts(source, context)];
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
  return [...textParts(intro.slice(title === undefined ? 0 : 1).join('\n')), { type: 'file', file }];
}

/** Inside a document stand only texts and images: no way to nest documents without end. */
function sourceParts(source: Fields, context: MessagesContext): readonly ChatPart[] {
  const content = source.textOrObjects('content', limits.parts);
  if (content === undefined) throw missing(source.path('content'));
  if (typeof content === 'string') return textParts(content);
  return typedBlocks(content).flatMap((block) =>
    block.type === 'text' || block.type === 'image' ? blockParts(block, context) : unexpectedBlock(block),
  );
}

function searchResultParts(fields: Fields): readonly ChatPart[] {
  loseCitations(fields);
  const lines = [fields.text('title'), fields.text('source')];
  for (const item of fields.objects('content', limits.parts) ?? []) {
    item.lossUnless('type', 'text');
    lines.push(blockText(item));
  }
  return textParts(lines.filter((line) => line !== undefined && line !== '').join('\n'));
}

/** Nodes do not report the passage that they cite. */
function loseCitations(fields: Fields): void {
  fields.object('citations')?.lossUnless('enabled');
}
