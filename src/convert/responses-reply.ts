import type { ChatAnswer } from './chat-reply.ts';
import type { ChatToolCall } from './chat-tool-calls.ts';
import type { ConvertedReply } from './conversion.ts';
import { isObject, parseJson } from './json.ts';
import {
  callItem,
  callPrefix,
  customInput,
  type ItemStatus,
  type MessagePart,
  messageItem,
  outputLogprobs,
  outputTextPart,
  type ResponsesItem,
  reasoningItem,
  urlCitation,
  wholeArguments,
} from './responses-items.ts';
import { endingOf, newIdentity, responseObject } from './responses-object.ts';
import type { ResponsesState } from './responses-state.ts';
import { ToolIds } from './tool-ids.ts';

/** An item that waits to be told how it ended. */
type Unfinished = (status: ItemStatus) => ResponsesItem;

/** Converts a chat answer to a response object: reasoning, message, then the calls (formats: chat reply). */
export function convertResponsesReply(answer: ChatAnswer, state: ResponsesState): ConvertedReply {
  const { finish, usage, serviceTier } = answer;
  const ending = endingOf(finish);
  const items = [...reasoning(answer, state), ...message(answer, state), ...calls(answer, state)];
  const output = items.map((item, index) =>
    item(ending.status === 'incomplete' && index === items.length - 1 ? 'incomplete' : 'completed'),
  );
  const progress = { ...ending, output, usage, serviceTier };
  return { body: responseObject(newIdentity(state), progress, state), lost: lostOf(answer) };
}

function reasoning(answer: ChatAnswer, state: ResponsesState): readonly Unfinished[] {
  const text = answer.reasoning.map((piece) => piece.text).join('');
  if (text === '') return [];
  const id = state.newId('rs_');
  return [(status) => reasoningItem(id, status, text, state.summarized)];
}

function message(answer: ChatAnswer, state: ResponsesState): readonly Unfinished[] {
  const { text, refusal, citations } = answer;
  const logprobs = state.logprobs ? outputLogprobs(answer.logprobs) : [];
  const content: MessagePart[] = [];
  if (text !== '') content.push(outputTextPart(text, citations.map(urlCitation), logprobs));
  if (refusal !== '') content.push({ type: 'refusal', refusal });
  if (content.length === 0) return [];
  const id = state.newId('msg_');
  return [(status) => messageItem(id, status, content)];
}

function calls(answer: ChatAnswer, state: ResponsesState): readonly Unfinished[] {
  const ids = new ToolIds(state.newId, 'call_');
  return answer.toolCalls.map((call) => {
    const origin = state.names.origin(call.name);
    const identity = { id: state.newId(callPrefix(origin)), callId: ids.take(call.id), origin };
    const text = origin.custom === true ? customInput(call.arguments) : wholeArguments(call.arguments);
    const cut = endingOf(answer.finish).status === 'incomplete' && isCut(call);
    return (status) => callItem(identity, cut ? 'incomplete' : status, text);
  });
}

/** Whether the arguments break off: parallel calls may be cut before the last one. */
function isCut(call: ChatToolCall): boolean {
  return call.arguments.trim() !== '' && !isObject(parseJson(call.arguments));
}

function lostOf(answer: ChatAnswer): readonly string[] {
  const lost: string[] = [];
  if (answer.citations.length > 0 && answer.text === '') lost.push('annotations');
  if (answer.reasoning.some((piece) => piece.signature !== '')) lost.push('signature');
  return lost;
}
