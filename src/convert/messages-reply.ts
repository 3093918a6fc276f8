import type { ChatAnswer } from './chat-reply.ts';
import type { ConvertedReply } from './conversion.ts';
import { isObject, parseJson } from './json.ts';
import type { MessagesState } from './messages-request.ts';
import { messagesStop } from './messages-stop.ts';
import { messagesUsage } from './messages-usage.ts';
import { ToolIds } from './tool-ids.ts';

/** Converts a chat answer to a message: thinking, text, tool_use, and no block that is empty. */
export function convertMessagesReply(answer: ChatAnswer, state: MessagesState): ConvertedReply {
  const { finish, stopString, toolCalls } = answer;
  const ids = new ToolIds(state.newId, 'toolu_');
  const content: object[] = [];
  for (const { text, signature } of answer.reasoning) {
    if (text.trim() !== '') content.push({ type: 'thinking', thinking: text, signature });
  }
  for (const text of [answer.text, answer.refusal]) {
    if (text.trim() !== '') content.push({ type: 'text', text });
  }
  for (const call of toolCalls) {
    const { name } = state.names.origin(call.name);
    const input = toolInput(call.arguments, finish);
    content.push({ type: 'tool_use', id: ids.take(call.id), name, input });
  }
  const usedTool = toolCalls.length > 0;
  const refused = answer.refusal !== '';
  const stop = messagesStop({ finish, stopString, usedTool, refused, stopSequences: state.stopSequences });
  const body = {
    ...emptyMessage(state.newId('msg_'), state.model),
    content,
    ...stop,
    usage: messagesUsage(answer.usage),
  };
  return { json: JSON.stringify(body), lost: answer.citations.length > 0 ? ['annotations'] : [] };
}

/** A message before anything is in it; clients check the prefix of the id when they send it back. */
export function emptyMessage(id: string, model: string) {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    container: null,
    diagnostics: null,
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
  };
}

/** `input` is always an object: arguments that were cut are {}, ones that are none are kept as text in `_raw`. */
function toolInput(text: string, finish: ChatAnswer['finish']): object {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed === 'null') return {};
  const input = parseJson(trimmed);
  if (isObject(input)) return input;
  return finish === 'length' || finish === 'filter' ? {} : { _raw: text };
}
