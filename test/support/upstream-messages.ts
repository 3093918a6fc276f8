import type { Exchange } from './upstream-exchange.ts';
import { type JsonObject, modelOf, toolToCall } from './upstream-request-body.ts';
import { answerText, pause, pieceOfText, sendJson, sendTyped, startEvents } from './upstream-sending.ts';

/** Answers `POST /v1/messages` natively, plain or streamed, with text or with one tool use. */
export async function answerMessages(exchange: Exchange, body: JsonObject): Promise<void> {
  const { chunks, toolArguments, chunkDelayMilliseconds, prefix } = exchange.answers;
  const tool = toolToCall(body);
  const stopReason = tool === undefined ? 'end_turn' : 'tool_use';
  const usage = { input_tokens: 7, output_tokens: chunks };
  const toolUse = { type: 'tool_use', id: 'toolu_scripted', name: tool };
  const message = {
    id: 'msg_scripted',
    type: 'message',
    role: 'assistant',
    model: modelOf(body),
    stop_sequence: null,
  };
  if (body['stream'] !== true) {
    const block =
      tool === undefined
        ? { type: 'text', text: answerText(chunks, prefix) }
        : { ...toolUse, input: JSON.parse(toolArguments) as unknown };
    sendJson(exchange, 200, { ...message, content: [block], stop_reason: stopReason, usage });
    return;
  }
  const send = (type: string, fields?: JsonObject) => sendTyped(exchange, type, fields);
  const startUsage = { input_tokens: 7, output_tokens: 1 };
  const emptyBlock = tool === undefined ? { type: 'text', text: '' } : { ...toolUse, input: {} };
  startEvents(exchange);
  await send('message_start', {
    message: { ...message, content: [], stop_reason: null, usage: startUsage },
  });
  await send('content_block_start', { index: 0, content_block: emptyBlock });
  await send('ping');
  if (tool === undefined) {
    for (let index = 0; index < chunks; index++) {
      await pause(exchange, chunkDelayMilliseconds);
      const delta = { type: 'text_delta', text: pieceOfText(index, prefix) };
      await send('content_block_delta', { index: 0, delta });
    }
  } else {
    const delta = { type: 'input_json_delta', partial_json: toolArguments };
    await send('content_block_delta', { index: 0, delta });
  }
  await send('content_block_stop', { index: 0 });
  const delta = { stop_reason: stopReason, stop_sequence: null };
  await send('message_delta', { delta, usage: { output_tokens: chunks } });
  await send('message_stop');
  exchange.response.end();
}

/** Answers `POST /v1/messages/count_tokens`. */
export function answerCountTokens(exchange: Exchange): void {
  sendJson(exchange, 200, { input_tokens: 7 });
}
