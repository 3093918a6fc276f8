import type { ChatAnswer } from './chat-reply.ts';
import type { ConvertedReply } from './conversion.ts';
import { isObject, parseJsonAsWritten } from './json.ts';
import { keepWhole } from './kept-answer.ts';
import { messageJson } from './messages-object.ts';
import type { MessagesState } from './messages-request.ts';
import { messagesStop } from './messages-stop.ts';
import { isTierLost, messageUsageJson } from './messages-usage.ts';
import { ToolIds } from './tool-ids.ts';

/** Converts a chat answer to a message: thinking, text, tool_use, and no block that is empty. */
export function convertMessagesReply(answer: ChatAnswer, state: MessagesState): ConvertedReply {
  const { finish, stopString, toolCalls } = answer;
  const ids = new ToolIds(state.newId, 'toolu_');
  const callIds = toolCalls.map(({ id }) => ids.take(id));
  const kept = keepWhole(answer, callIds, state.nodeModel);
  const blocks: string[] = thinkingBlocks(answer.reasoning, kept.packed).map((block) =>
    JSON.stringify(block),
  );
  if (answer.text.trim() !== '') blocks.push(textBlock(answer.textJson ?? JSON.stringify(answer.text)));
  if (answer.refusal.trim() !== '') blocks.push(textBlock(JSON.stringify(answer.refusal)));
  for (const [index, call] of toolCalls.entries()) {
    const { name } = state.names.origin(call.name);
    const input = toolInput(call.arguments, finish);
    blocks.push(JSON.stringify({ type: 'tool_use', id: callIds[index], name, input, caller: directCaller }));
  }
  const content = `[${blocks.join(',')}]`;
  const usedTool = toolCalls.length > 0;
  const refused = answer.refusal !== '';
  const stop = messagesStop({ finish, stopString, usedTool, refused, stopSequences: state.stopSequences });
  const usage = messageUsageJson(answer.usage, answer.serviceTier);
  const lost = new Set(answer.unread);
  if (answer.citations.length > 0) lost.add('annotations');
  if (answer.logprobs.length > 0) lost.add('logprobs');
  if (isTierLost(answer.serviceTier)) lost.add('service_tier');
  if (kept.lost) lost.add('signature');
  return { json: messageJson(state.newId('msg_'), state.model, { content, stop, usage }), lost: [...lost] };
}

/** The caller of a tool: the model, not a program of Anthropic's. */
export const directCaller = { type: 'direct' } as const;

/** A block of text as JSON, from the text as JSON. */
function textBlock(text: string): string {
  return `{"type":"text","text":${text},"citations":null}`;
}

/** Reasoning; what the node needs again is the signature of its last block, or a redacted block. */
function thinkingBlocks(reasoning: ChatAnswer['reasoning'], packed: string | undefined): object[] {
  const said = reasoning.filter(({ text }) => text.trim() !== '');
  const signs = packed !== undefined && said.at(-1)?.signature === '';
  const blocks: object[] = said.map(({ text, signature }, index) => ({
    type: 'thinking',
    thinking: text,
    signature: signs && index === said.length - 1 ? packed : signature,
  }));
  if (packed !== undefined && !signs) blocks.push({ type: 'redacted_thinking', data: packed });
  return blocks;
}

/** `input` is always an object: {} for arguments that were cut, and `{_raw: text}` for text that is not an object. */
function toolInput(text: string, finish: ChatAnswer['finish']): object {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed === 'null') return {};
  // Keeps the digits of the node's numbers, as a streamed reply does.
  const input = parseJsonAsWritten(trimmed);
  if (isObject(input)) return input;
  return finish === 'length' || finish === 'filter' ? {} : { _raw: text };
}
