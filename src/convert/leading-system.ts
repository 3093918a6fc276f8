import type { ChatMessage } from './chat-request.ts';
import { joinTexts } from './unread-text.ts';

/** Joins all system texts into the first message, for templates that refuse later ones (`systemPlacement: Leading`). */
export function leadingSystem(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const isSystem = (message: ChatMessage) => message.role === 'system' || message.role === 'developer';
  const texts = messages.flatMap((message) =>
    message.role === 'system' || message.role === 'developer' ? [message.content] : [],
  );
  const first = messages.find(isSystem);
  if (first === undefined || (texts.length === 1 && messages[0] === first)) return messages;
  const role = first.role === 'developer' ? 'developer' : 'system';
  return [{ role, content: joinTexts(texts, '\n\n') }, ...messages.filter((message) => !isSystem(message))];
}
