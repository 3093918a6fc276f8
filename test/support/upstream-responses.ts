import type { Exchange } from './upstream-exchange.ts';
import { type JsonObject, modelOf, toolToCall } from './upstream-request-body.ts';
import { answerText, pause, pieceOfText, sendJson, sendTyped, startEvents } from './upstream-sending.ts';

/** Answers `POST /v1/responses` natively, plain or streamed, with text or with one function call. */
export async function answerResponses(exchange: Exchange, body: JsonObject): Promise<void> {
  const { chunks, toolArguments, chunkDelayMilliseconds, prefix } = exchange.answers;
  const tool = toolToCall(body);
  const text = answerText(chunks, prefix);
  const part = { type: 'output_text', text, annotations: [], logprobs: [] };
  const message = {
    id: 'msg_scripted',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [part],
  };
  const call = {
    id: 'fc_scripted',
    type: 'function_call',
    status: 'completed',
    call_id: 'call_scripted',
    name: tool,
    arguments: toolArguments,
  };
  const item = tool === undefined ? message : call;
  const done = responseObject(body, 'completed', [item], chunks);
  if (body['stream'] !== true) {
    sendJson(exchange, 200, done);
    return;
  }

  let sequence = 0;
  const send = (type: string, fields: JsonObject) =>
    sendTyped(exchange, type, { ...fields, sequence_number: sequence++ });
  const started = responseObject(body, 'in_progress', [], chunks);
  const place = { item_id: item.id, output_index: 0 };
  startEvents(exchange);
  await send('response.created', { response: started });
  await send('response.in_progress', { response: started });
  const emptyItem =
    tool === undefined
      ? { ...message, status: 'in_progress', content: [] }
      : { ...call, status: 'in_progress', arguments: '' };
  await send('response.output_item.added', { output_index: 0, item: emptyItem });
  if (tool === undefined) {
    const at = { ...place, content_index: 0 };
    await send('response.content_part.added', { ...at, part: { ...part, text: '' } });
    for (let index = 0; index < chunks; index++) {
      await pause(exchange, chunkDelayMilliseconds);
      await send('response.output_text.delta', { ...at, delta: pieceOfText(index, prefix), logprobs: [] });
    }
    await send('response.output_text.done', { ...at, text, logprobs: [] });
    await send('response.content_part.done', { ...at, part });
  } else {
    await send('response.function_call_arguments.delta', { ...place, delta: toolArguments });
    await send('response.function_call_arguments.done', { ...place, name: tool, arguments: toolArguments });
  }
  await send('response.output_item.done', { output_index: 0, item });
  await send('response.completed', { response: done });
  exchange.response.end();
}

function responseObject(body: JsonObject, status: string, output: readonly unknown[], tokens: number) {
  const completed = status === 'completed';
  return {
    id: 'resp_scripted',
    object: 'response',
    created_at: 1_750_000_000,
    status,
    error: null,
    incomplete_details: null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    model: modelOf(body),
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    store: body['store'] ?? true,
    temperature: 1,
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_p: 1,
    truncation: 'disabled',
    metadata: body['metadata'] ?? {},
    usage: completed
      ? {
          input_tokens: 7,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: tokens,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 7 + tokens,
        }
      : null,
  };
}
