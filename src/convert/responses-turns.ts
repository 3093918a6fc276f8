import type { ChatAssistantMessage, ChatCall, ChatMessage } from './chat-request.ts';
import { type ToolResult, toolMessages } from './chat-tool-results.ts';
import type { Dialect } from './dialect.ts';
import type { Fields } from './fields.ts';
import type { KeptSignatures } from './kept-signatures.ts';
import type { AssistantContent } from './responses-content.ts';
import { lacksCall, withSignatures } from './signed-message.ts';
import { isBlank, joinTexts, noText, type UnreadText, unreadText } from './unread-text.ts';

/** A reasoning item: its text, and what the node signed. */
interface Reasoning {
  readonly text: string;
  readonly kept: KeptSignatures | undefined;
  readonly item: Fields;
}

/** One assistant message that is not complete yet, and the results of its calls. */
interface Turn {
  readonly texts: UnreadText[];
  readonly refusals: string[];
  readonly reasoning: Reasoning[];
  readonly calls: ChatCall[];
  readonly results: ToolResult[];
  /** Calls whose output is still to come. */
  awaited: number;
}

/**
 * Builds chat messages from the flat items of a conversation. Reasoning, text and calls of one turn become one assistant
 * message, and their results follow it in the order of the calls. Items between a call and its output become part of the
 * turn, if they are the assistant's, or follow it. Nodes refuse other orders.
 */
export class ResponsesTurns {
  readonly #dialect: Dialect;
  readonly #done: ChatMessage[] = [];
  #turn: Turn | undefined;
  #reasoning: Reasoning[] = [];
  #behind: ChatMessage[] = [];

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** A message of the user or the system. */
  other(message: ChatMessage): void {
    this.#dropReasoning();
    if (this.#awaits()) {
      this.#behind.push(message);
      return;
    }
    this.#flush();
    this.#done.push(message);
  }

  /** Reasoning belongs to what the assistant says or does next. */
  reason(reasoning: Reasoning): void {
    this.#reasoning.push(reasoning);
  }

  say({ text, refusal }: AssistantContent): void {
    if (text === noText && refusal === '') return;
    if (!this.#awaits()) this.#flush();
    const turn = this.#current();
    if (text !== noText) turn.texts.push(text);
    if (refusal !== '') turn.refusals.push(refusal);
  }

  /** `answered`: its output comes later. */
  call(call: ChatCall, answered: boolean): void {
    if (!this.#awaits() && (this.#turn?.results.length ?? 0) > 0) this.#flush();
    const turn = this.#current();
    turn.calls.push(call);
    if (answered) turn.awaited += 1;
  }

  /** The output of a call of this turn: a turn is not over before it has them all. */
  result(result: ToolResult): void {
    const turn = this.#current();
    turn.results.push(result);
    turn.awaited -= 1;
  }

  end(): readonly ChatMessage[] {
    this.#dropReasoning();
    this.#flush();
    return this.#done;
  }

  /** Ends the reasoning that no item of the assistant follows. Signed reasoning without text after a text belongs to that text. */
  #dropReasoning(): void {
    const turn = this.#turn?.results.length === 0 ? this.#turn : undefined;
    for (const reasoning of this.#reasoning) {
      const { text, kept, item } = reasoning;
      if (turn !== undefined && text === '' && kept !== undefined) turn.reasoning.push(reasoning);
      else item.dropWhole('hint');
    }
    this.#reasoning = [];
  }

  #awaits(): boolean {
    return (this.#turn?.awaited ?? 0) > 0;
  }

  #current(): Turn {
    this.#turn ??= { texts: [], refusals: [], reasoning: [], calls: [], results: [], awaited: 0 };
    this.#turn.reasoning.push(...this.#reasoning);
    this.#reasoning = [];
    return this.#turn;
  }

  #flush(): void {
    const turn = this.#turn;
    this.#turn = undefined;
    if (turn !== undefined) {
      this.#done.push(this.#message(turn));
      const callIds = turn.calls.map((call) => call.id);
      const { messages, overflow } = toolMessages(turn.results, callIds, this.#dialect);
      for (const message of messages) this.#done.push(message);
      if (overflow.length > 0) this.#done.push({ role: 'user', content: overflow });
    }
    for (const message of this.#behind) this.#done.push(message);
    this.#behind = [];
  }

  #message(turn: Turn): ChatAssistantMessage {
    const refusal = turn.refusals.join('\n');
    const apart = refusal !== '' && this.#dialect.openAIExtras;
    const said = apart || refusal === '' ? turn.texts : [...turn.texts, unreadText(refusal)];
    const content = joinTexts(said, '\n');
    const empty = isBlank(content) && (turn.calls.length > 0 || apart);
    const texts = turn.reasoning.map(({ text }) => text).filter((text) => text !== '');
    for (const { kept, item } of turn.reasoning)
      if (kept !== undefined && lacksCall(kept, turn.calls)) item.hint('encrypted_content');
    const message: ChatAssistantMessage = {
      role: 'assistant',
      content: empty ? null : content,
      ...(apart ? { refusal } : {}),
      ...this.#thinking(texts.join('\n')),
      ...(turn.calls.length > 0 ? { tool_calls: turn.calls } : {}),
    };
    return withSignatures(
      message,
      turn.reasoning.flatMap(({ kept }) => kept ?? []),
    );
  }

  #thinking(text: string): Pick<ChatAssistantMessage, 'reasoning' | 'reasoning_content'> {
    const field = this.#dialect.reasoningHistoryField;
    if (text === '' || field === 'None') return {};
    return field === 'Reasoning' ? { reasoning: text } : { reasoning_content: text };
  }
}
