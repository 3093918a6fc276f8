import type { ChatAnswer } from './chat-reply.ts';
import type { ChatToolCall } from './chat-tool-calls.ts';
import type { ConvertedReply } from './conversion.ts';
import { isObject, parseJson } from './json.ts';
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
import { endingOf, newIdentity, responseJson } from './responses-object.ts';
import type { ResponsesState } from './responses-state.ts';
import { ToolIds } from './tool-ids.ts';

/** Converts a chat answer to a response object: reasoning, message, then the calls. */
export function convertResponsesReply(answer: ChatAnswer, state: ResponsesState): ConvertedReply {
  const { finish, usage, serviceTier } = answer;
  const ending = endingOf(finish);
  const output: ResponsesItem[] = [];
  addReasoning(answer, state, output);
  addMessage(answer, state, output);
  addCalls(answer, state, output);
  const last = output.at(-1);
  if (ending.status === 'incomplete' && last !== undefined)
    output[output.length - 1] = { ...last, status: ending.status };
  const progress = { ...ending, output, usage, serviceTier };
  return { json: responseJson(newIdentity(state), progress, state), lost: lostOf(answer) };
}

function addReasoning(answer: ChatAnswer, state: ResponsesState, output: ResponsesItem[]): void {
  const text = answer.reasoning.map((piece) => piece.text).join('');
  if (text !== '') output.push(reasoningItem(state.newId('rs_'), 'completed', text, state.summarized));
}

function addMessage(answer: ChatAnswer, state: ResponsesState, output: ResponsesItem[]): void {
  const { text, refusal, citations } = answer;
  const logprobs = state.logprobs ? outputLogprobs(answer.logprobs) : [];
  const content: MessagePart[] = [];
  if (text !== '') content.push(outputTextPart(text, citations.map(urlCitation), logprobs));
  if (refusal !== '') content.push({ type: 'refusal', refusal });
  if (content.length > 0) output.push(messageItem(state.newId('msg_'), 'completed', content));
}

function addCalls(answer: ChatAnswer, state: ResponsesState, output: ResponsesItem[]): void {
  if (answer.toolCalls.length === 0) return;
  const ids = new ToolIds(state.newId, 'call_');
  for (const call of answer.toolCalls) {
    const origin = state.names.origin(call.name);
    const identity = { id: state.newId(callPrefix(origin)), callId: ids.take(call.id), origin };
    const text = origin.custom === true ? customInput(call.arguments) : wholeArguments(call.arguments);
    const cut = endingOf(answer.finish).status === 'incomplete' && isCut(call);
    output.push(callItem(identity, cut ? 'incomplete' : 'completed', text));
  }
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
