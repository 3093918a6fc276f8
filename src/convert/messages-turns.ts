import type { ChatMessage, ChatPart } from './chat-request.ts';
import { type ToolResult, toolMessages } from './chat-tool-results.ts';
import { type AssistantTurn, assistantMessage, readAssistant } from './messages-assistant.ts';
import {
  type Block,
  blockParts,
  joinTexts,
  readBlocks,
  readToolResult,
  unexpectedBlock,
} from './messages-content.ts';
import { hintFields, type MessagesContext } from './messages-context.ts';
import { asObject, invalid, pathOf, required, requiredString } from './request-fields.ts';

/**
 * Converts `messages` (messages.md). Neighbouring assistant messages are one turn; so are the user and
 * system messages up to the next: their tool results come first, in the order of the calls, everything else behind.
 */
export function convertTurns(messages: readonly unknown[], context: MessagesContext): readonly ChatMessage[] {
  const turns = new Turns(context);
  for (const [index, item] of messages.entries()) {
    const at = pathOf('messages', index);
    const message = asObject(item, at);
    const role = requiredString(message, 'role', at);
    const content = required(message, 'content', at);
    if (role === 'assistant') turns.assistant(content, pathOf(at, 'content'));
    else if (role === 'user') turns.user(content, pathOf(at, 'content'));
    else if (role === 'system') turns.system(content, pathOf(at, 'content'));
    else throw invalid(pathOf(at, 'role'), "Input should be 'user', 'assistant' or 'system'");
  }
  return turns.end();
}

/** The text of a system prompt or message: texts joined with a blank line. */
export function systemText(content: unknown, at: string, context: MessagesContext): string {
  const texts = readBlocks(content, at).map((block) => {
    if (block.type !== 'text') return unexpectedBlock(block);
    hintFields(block.fields, block.at, ['cache_control', 'citations'], context.dropped);
    return withoutBillingHeader(requiredString(block.fields, 'text', block.at));
  });
  return texts.filter((text) => text !== '').join('\n\n');
}

/** Claude Code begins with a line that differs per request: noise that defeats prefix caches. */
function withoutBillingHeader(text: string): string {
  return text.startsWith('x-anthropic-billing-header:') ? text.replace(/^[^\n]*\n?/, '') : text;
}

class Turns {
  readonly #context: MessagesContext;
  readonly #done: ChatMessage[] = [];
  #assistant: AssistantTurn | undefined;
  /** Ids of the calls that the user's turn may answer. */
  #callIds: ReadonlySet<string> = new Set();
  #results: ToolResult[] = [];
  #others: ChatMessage[] = [];
  #answered = new Set<string>();

  constructor(context: MessagesContext) {
    this.#context = context;
  }

  assistant(content: unknown, at: string): void {
    this.#endUser();
    this.#assistant ??= { texts: [], thinking: [], calls: [], ids: new Set() };
    readAssistant(content, at, this.#assistant, this.#context);
  }

  user(content: unknown, at: string): void {
    this.#endAssistant();
    if (typeof content === 'string') {
      if (content !== '') this.#others.push({ role: 'user', content });
      return;
    }
    const parts: ChatPart[] = [];
    for (const block of readBlocks(content, at)) {
      if (block.type === 'tool_result') this.#results.push(this.#result(block));
      else for (const part of blockParts(block, this.#context)) parts.push(part);
    }
    if (parts.length > 0) this.#others.push({ role: 'user', content: joinTexts(parts, '\n') ?? parts });
  }

  system(content: unknown, at: string): void {
    this.#endAssistant();
    const text = systemText(content, at, this.#context);
    if (text !== '') this.#others.push({ role: 'system', content: text });
  }

  end(): readonly ChatMessage[] {
    this.#endAssistant();
    this.#endUser();
    return this.#done;
  }

  #result(block: Block): ToolResult {
    const result = readToolResult(block, this.#context);
    const { callId } = result;
    if (!this.#callIds.has(callId))
      throw invalid(
        block.at,
        `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${callId.slice(0, 80)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message`,
      );
    if (this.#answered.has(callId))
      throw invalid(
        block.at,
        `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${callId.slice(0, 80)}`,
      );
    this.#answered.add(callId);
    return result;
  }

  #endAssistant(): void {
    if (this.#assistant === undefined) return;
    const message = assistantMessage(this.#assistant, this.#context);
    if (message !== undefined) this.#done.push(message);
    this.#callIds = this.#assistant.ids;
    this.#assistant = undefined;
  }

  #endUser(): void {
    if (this.#results.length === 0) {
      for (const message of this.#others) this.#done.push(message);
      this.#others = [];
      return;
    }
    const { messages, overflow } = toolMessages(this.#results, [...this.#callIds], this.#context.dialect);
    // No spread: as many arguments as a hostile request may have results would overflow the stack.
    for (const message of messages) this.#done.push(message);
    for (const message of behind(overflow, this.#others)) this.#done.push(message);
    this.#results = [];
    this.#others = [];
    this.#answered = new Set();
  }
}

/** Puts the attachments of tool results before the rest, into the user message that follows if there is one. */
function behind(overflow: readonly ChatPart[], others: readonly ChatMessage[]): readonly ChatMessage[] {
  if (overflow.length === 0) return others;
  const [first, ...rest] = others;
  if (first?.role !== 'user') return [{ role: 'user', content: overflow }, ...others];
  const said: readonly ChatPart[] =
    typeof first.content === 'string' ? [{ type: 'text', text: first.content }] : first.content;
  return [{ role: 'user', content: [...overflow, ...said] }, ...rest];
}
