import type { ChatPart, ChatToolMessage } from './chat-request.ts';
import type { Dialect } from './dialect.ts';
import { noText, type UnreadText, unreadText } from './unread-text.ts';

/** What a tool gave back: text, and images or files beside it. */
export interface ToolResult {
  readonly callId: string;
  readonly text: UnreadText;
  readonly media: readonly ChatPart[];
}

/** Tool messages, and what has to follow them in a user message because tool messages hold only text. */
export interface ToolMessages {
  readonly messages: readonly ChatToolMessage[];
  /** For each result with media a text that names its call, then the media. */
  readonly overflow: readonly ChatPart[];
}

/**
 * The tool messages of one turn, in the order of the calls. Callers send results in the order of completion, and many nodes
 * refuse or confuse another order. Results of calls that are not listed come last.
 */
export function toolMessages(
  results: readonly ToolResult[],
  callIds: readonly string[],
  dialect: Pick<Dialect, 'toolImages'>,
): ToolMessages {
  const rank = new Map(callIds.map((id, index) => [id, index]));
  const last = callIds.length;
  const sorted = results.toSorted((a, b) => (rank.get(a.callId) ?? last) - (rank.get(b.callId) ?? last));
  const overflow: ChatPart[] = [];
  const messages = sorted.map(({ callId, text, media }): ChatToolMessage => {
    const stays = (part: ChatPart): boolean => dialect.toolImages === 'Inline' && part.type !== 'file';
    const inline = media.filter(stays);
    const moved = media.filter((part) => !stays(part));
    if (moved.length > 0)
      overflow.push({
        type: 'text',
        text: unreadText(`Attachments of the result of tool call ${callId}:`),
      });
    for (const part of moved) overflow.push(part);
    const said = text === noText && moved.length > 0 ? elsewhere : text;
    if (inline.length === 0) return { role: 'tool', tool_call_id: callId, content: said };
    const parts: ChatPart[] = said === noText ? inline : [{ type: 'text', text: said }, ...inline];
    return { role: 'tool', tool_call_id: callId, content: parts };
  });
  return { messages, overflow };
}

const elsewhere = unreadText('The result is attached to the next message.');
