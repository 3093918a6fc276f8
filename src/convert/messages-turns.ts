import type { ChatMessage, ChatPart } from './chat-request.ts';
import { type ToolResult, toolMessages } from './chat-tool-results.ts';
import type { Fields } from './fields.ts';
import { limits } from './limits.ts';
import { type AssistantTurn, assistantMessage, readAssistant } from './messages-assistant.ts';
import {
  blockParts,
  blockText,
  onlyText,
  readToolResult,
  typedBlocks,
  unexpectedBlock,
} from './messages-content.ts';
import type { MessagesContext } from './messages-context.ts';
import { invalid, missing } from './request-fields.ts';
import { isUnreadText, joinTexts, noText, type UnreadText, withoutBillingHeader } from './unread-text.ts';

/**
 * Converts `messages` (messages.md). Neighbouring assistant messages are one turn; so are the user and
 * system messages up to the next: their tool results come first, in the order of the calls, everything else behind.
 */
export function convertTurns(messages: readonly Fields[], context: MessagesContext): readonly ChatMessage[] {
  const turns = new Turns(context);
  const roles = messages.map((message) => message.neededText('role'));
  const lastUser = roles.lastIndexOf('user');
  for (const [index, message] of messages.entries()) {
    const role = roles[index];
    // For Anthropic a system message without content only changes the output.
    if (
      message.kind('content') === 'absent' &&
      (role !== 'system' || message.kind('output_config') === 'absent')
    )
      throw missing(message.path('content'));
    if (role === 'assistant') turns.assistant(message);
    else if (role === 'user') turns.user(message);
    else if (role === 'system') turns.system(message, index < lastUser);
    else throw invalid(message.path('role'), "Input should be 'user', 'assistant' or 'system'");
  }
  return turns.end();
}

/** The text of a system prompt or message: texts joined with a blank line. */
export function systemText(owner: Fields, key: string): UnreadText {
  const content = owner.unreadTextOrObjects(key, limits.parts) ?? noText;
  if (isUnreadText(content)) return withoutBillingHeader(content);
  const texts = typedBlocks(content).map((block) => {
    if (block.type === 'text') return withoutBillingHeader(blockText(block.fields));
    if (block.type !== 'tool_addition' && block.type !== 'tool_removal') return unexpectedBlock(block);
    block.fields.dropWhole('loss');
    return noText;
  });
  return joinTexts(
    texts.filter((text) => text !== noText),
    '\n\n',
  );
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

  assistant(message: Fields): void {
    this.#endUser();
    this.#assistant ??= { texts: [], thinking: [], calls: [], ids: new Set(), kept: [] };
    readAssistant(message, this.#assistant, this.#context);
  }

  user(message: Fields): void {
    this.#endAssistant();
    const content = message.unreadTextOrObjects('content', limits.parts) ?? noText;
    if (isUnreadText(content)) {
      if (content !== noText) this.#others.push({ role: 'user', content });
      return;
    }
    const parts: ChatPart[] = [];
    for (const block of typedBlocks(content)) {
      if (block.type === 'tool_result') this.#results.push(this.#result(block.fields));
      else for (const part of blockParts(block, this.#context)) parts.push(part);
    }
    if (parts.length > 0) this.#others.push({ role: 'user', content: onlyText(parts, '\n') ?? parts });
  }

  /** `old`: a message of the user comes later, before which some system messages are shown and then no more. */
  system(message: Fields, old: boolean): void {
    this.#endAssistant();
    const text = systemText(message, 'content');
    const until = message.text('clear_at') ?? 'never';
    if (until !== 'never' && until !== 'next_user_message')
      throw invalid(message.path('clear_at'), "Input should be 'next_user_message' or 'never'");
    if (text !== noText && !(old && until === 'next_user_message'))
      this.#others.push({ role: 'system', content: text });
  }

  end(): readonly ChatMessage[] {
    this.#endAssistant();
    this.#endUser();
    return this.#done;
  }

  #result(fields: Fields): ToolResult {
    const result = readToolResult(fields, this.#context);
    const { callId } = result;
    if (!this.#callIds.has(callId))
      throw invalid(
        fields.at,
        `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${callId.slice(0, 80)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message`,
      );
    if (this.#answered.has(callId))
      throw invalid(
        fields.at,
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
  const said: readonly ChatPart[] = isUnreadText(first.content)
    ? [{ type: 'text', text: first.content }]
    : first.content;
  return [{ role: 'user', content: [...overflow, ...said] }, ...rest];
}
