import type { ChatAnswer } from './chat-reply.ts';
import type { ChatToolCall } from './chat-tool-calls.ts';
import type { ConvertedReply } from './conversion.ts';
import { isObject, parseJson } from './json.ts';
import { type KeptWhole, keepWhole } from './kept-answer.ts';
import {
  callItem,
  callPrefix,
  customInput,
  type MessagePart,
  messageItem,
  outputLogprobs,
  outputTextPart,
  type ResponsesItem,
  reasoningItem,
  urlCitation,
  wholeArguments,
} from './responses-items.ts';
import { endingOf, isTierLost, newIdentity, responseJson } from './responses-object.ts';
import type { ResponsesState } from './responses-state.ts';
import { ToolIds } from './tool-ids.ts';

/** Converts a chat answer to a response object: reasoning, message, then the calls. */
export function convertResponsesReply(answer: ChatAnswer, state: ResponsesState): ConvertedReply {
  const { finish, usage, serviceTier } = answer;
  const ending = endingOf(finish);
  const output: ResponsesItem[] = [];
  const ids = new ToolIds(state.newId, 'call_');
  const callIds = answer.toolCalls.map(({ id }) => ids.take(id));
  const kept = keepWhole(answer, callIds, state.nodeModel);
  addReasoning(answer, state, kept.packed, output);
  addMessage(answer, state, output);
  addCalls(answer, state, callIds, output);
  const last = output.at(-1);
  if (ending.status === 'incomplete' && last !== undefined)
    output[output.length - 1] = { ...last, status: ending.status };
  const progress = { ...ending, output, textJson: answer.textJson, usage, serviceTier };
  return { json: responseJson(newIdentity(state), progress, state), lost: lostOf(answer, state, kept) };
}

function addReasoning(
  answer: ChatAnswer,
  state: ResponsesState,
  encrypted: string | undefined,
  output: ResponsesItem[],
): void {
  const text = answer.reasoning.map((piece) => piece.text).join('') || undefined;
  if (text === undefined && encrypted === undefined) return;
  output.push(reasoningItem(state.newId('rs_'), 'completed', { text, encrypted }, state.summarized));
}

function addMessage(answer: ChatAnswer, state: ResponsesState, output: ResponsesItem[]): void {
  const { text, refusal, citations } = answer;
  const logprobs = state.logprobs ? outputLogprobs(answer.logprobs) : [];
  const content: MessagePart[] = [];
  if (text !== '') content.push(outputTextPart(text, citations.map(urlCitation), logprobs));
  if (refusal !== '') content.push({ type: 'refusal', refusal });
  if (content.length > 0) output.push(messageItem(state.newId('msg_'), 'completed', content));
}

function addCalls(
  answer: ChatAnswer,
  state: ResponsesState,
  callIds: readonly string[],
  output: ResponsesItem[],
): void {
  for (const [index, call] of answer.toolCalls.entries()) {
    const origin = state.names.origin(call.name);
    const identity = { id: state.newId(callPrefix(origin)), callId: callIds[index] ?? '', origin };
    const text = origin.custom === true ? customInput(call.arguments) : wholeArguments(call.arguments);
    const cut = endingOf(answer.finish).status === 'incomplete' && isCut(call);
    output.push(callItem(identity, cut ? 'incomplete' : 'completed', text));
  }
}

/** Whether the arguments break off: parallel calls may be cut before the last one. */
function isCut(call: ChatToolCall): boolean {
  return call.arguments.trim() !== '' && !isObject(parseJson(call.arguments));
}

function lostOf(answer: ChatAnswer, state: ResponsesState, kept: KeptWhole): readonly string[] {
  const lost = new Set(answer.unread);
  if (answer.citations.length > 0 && answer.text === '') lost.add('annotations');
  if (kept.lost || answer.reasoning.some((piece) => piece.signature !== '')) lost.add('signature');
  if (isTierLost(answer.serviceTier)) lost.add('service_tier');
  if (answer.logprobs.length > 0 && !(state.logprobs && answer.text !== '')) lost.add('logprobs');
  return [...lost];
}
