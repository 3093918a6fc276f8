import type { Exchange } from './upstream-exchange.ts';
import { type JsonObject, modelOf, toolToCall } from './upstream-request-body.ts';
import {
  answerText,
  pause,
  pieceOfText,
  sendData,
  sendJson,
  startEvents,
  write,
} from './upstream-sending.ts';

const created = 1_750_000_000;

/** Answers `POST /chat/completions`, plain or streamed, with text or with one tool call. */
export async function answerChat(exchange: Exchange, body: JsonObject): Promise<void> {
  const { chunks, toolArguments, prefix } = exchange.answers;
  const tool = toolToCall(body);
  const usage = { prompt_tokens: 7, completion_tokens: chunks, total_tokens: 7 + chunks };
  const common = { id: 'chatcmpl-scripted', created, model: modelOf(body) };
  const toolCall = {
    id: 'call_scripted',
    type: 'function',
    function: { name: tool, arguments: toolArguments },
  };
  const finishReason = tool === undefined ? 'stop' : 'tool_calls';
  if (body['stream'] !== true) {
    const message =
      tool === undefined
        ? { role: 'assistant', content: answerText(chunks, prefix) }
        : { role: 'assistant', content: null, tool_calls: [toolCall] };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: finishReason }];
    sendJson(exchange, 200, { ...common, object: 'chat.completion', choices, usage });
    return;
  }
  const chunk = (delta: JsonObject, reason: string | null = null) => ({
    ...common,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
  });
  startEvents(exchange);
  if (tool === undefined) {
    await sendData(exchange, chunk({ role: 'assistant', content: '' }));
    for (let index = 0; index < chunks; index++) {
      await pause(exchange, exchange.answers.chunkDelayMilliseconds);
      await sendData(exchange, chunk({ content: pieceOfText(index, prefix) }));
    }
  } else {
    const empty = { ...toolCall, index: 0, function: { name: tool, arguments: '' } };
    await sendData(exchange, chunk({ role: 'assistant', content: null, tool_calls: [empty] }));
    await sendData(exchange, chunk({ tool_calls: [{ index: 0, function: { arguments: toolArguments } }] }));
  }
  await sendData(exchange, chunk({}, finishReason));
  if (wantsUsage(body)) {
    await sendData(exchange, { ...common, object: 'chat.completion.chunk', choices: [], usage });
  }
  await write(exchange, 'data: [DONE]\n\n');
  exchange.response.end();
}

/** Answers `POST /completions` (the legacy text format), plain or streamed. */
export async function answerCompletion(exchange: Exchange, body: JsonObject): Promise<void> {
  const { chunks, prefix } = exchange.answers;
  const common = { id: 'cmpl-scripted', object: 'text_completion', created, model: modelOf(body) };
  const choice = (text: string, reason: string | null) => [
    { index: 0, text, logprobs: null, finish_reason: reason },
  ];
  const usage = { prompt_tokens: 7, completion_tokens: chunks, total_tokens: 7 + chunks };
  if (body['stream'] !== true) {
    sendJson(exchange, 200, { ...common, choices: choice(answerText(chunks, prefix), 'stop'), usage });
    return;
  }
  startEvents(exchange);
  for (let index = 0; index < chunks; index++) {
    await pause(exchange, exchange.answers.chunkDelayMilliseconds);
    await sendData(exchange, { ...common, choices: choice(pieceOfText(index, prefix), null) });
  }
  await sendData(exchange, { ...common, choices: choice('', 'stop') });
  if (wantsUsage(body)) await sendData(exchange, { ...common, choices: [], usage });
  await write(exchange, 'data: [DONE]\n\n');
  exchange.response.end();
}

function wantsUsage(body: JsonObject): boolean {
  return JSON.stringify(body['stream_options'] ?? null).includes('"include_usage":true');
}
