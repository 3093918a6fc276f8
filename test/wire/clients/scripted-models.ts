import { type Behaviour, play } from '../../support/upstream-behaviours.ts';
import type { Exchange } from '../../support/upstream-exchange.ts';
import { type JsonObject, jsonBody, modelOf } from '../../support/upstream-request-body.ts';
import { sendData, sendJson, startEvents, write } from '../../support/upstream-sending.ts';

/** What a model says in one turn. */
interface Turn {
  readonly reasoning?: string;
  readonly text?: string;
  readonly refusal?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finish?: string;
}

interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly JsonObject[];
}

/** One of the models below: what it answers to a conversation; `count` is how often it was asked before. */
type Model = (messages: readonly ChatMessage[], body: JsonObject, count: number) => Turn | Behaviour;

export const greeting = 'Grüße aus der Ferne 🌍, and hello.';

const looking = [
  { id: 'call_oslo', name: 'weather', arguments: '{"city":"Oslo"}' },
  { id: 'call_now', name: 'now', arguments: '' },
  { id: 'call_rome', name: 'weather', arguments: '{"city":"Rome"}' },
];

/** The models of the chat-only node. What a client is shown depends on the name that it asks for, in every language. */
const models: Readonly<Record<string, Model>> = {
  talks: () => ({ text: greeting }),
  thinks: () => ({ reasoning: 'First this, then that.', text: 'Done.' }),
  /** Calls three tools side by side, one without arguments; then repeats what it was told by them. */
  calls: (messages) => {
    const results = resultsIn(messages);
    return results.length === 0
      ? { text: 'Looking.', calls: looking }
      : { text: `Results: ${results.join(' | ')}` };
  },
  /** The same over three turns, thinking each time, one call in each. */
  explores: (messages) => {
    const done = resultsIn(messages).length;
    const call = looking[done];
    if (call === undefined || done === 2) return { reasoning: 'Enough.', text: `Seen ${done}.` };
    return { reasoning: `Step ${done + 1}.`, calls: [call] };
  },
  /** Says what kinds of parts the last message of the user has, and where its images are. */
  sees: (messages) => {
    const content = messages.findLast(({ role }) => role === 'user')?.content;
    const parts = (Array.isArray(content) ? content : []) as JsonObject[];
    return {
      text: parts
        .map(({ type, image_url: image }) =>
          type === 'image_url' ? String((image as JsonObject)['url']).slice(0, 30) : String(type),
        )
        .join(' '),
    };
  },
  /** Follows a schema that it is sent as a format or as the only tool that it may call; says so without one. */
  obeys: (_, { response_format: format, tool_choice: choice, tools }) => {
    const text = '{"city":"Oslo","days":[1,2]}';
    if ((format as JsonObject | undefined)?.['type'] === 'json_schema') return { text };
    const [tool] = (tools ?? []) as { readonly function: { readonly name: string } }[];
    if (tool === undefined || choice === undefined || choice === 'auto') return { text: 'no schema' };
    return { calls: [{ id: 'call_obey', name: tool.function.name, arguments: text }] };
  },
  refuses: () => ({ refusal: 'I will not.' }),
  stops: () => ({ text: 'Cut sho', finish: 'length' }),
  busy: (_, __, count) =>
    count === 0
      ? { kind: 'answer', status: 429, headers: soon, body: { error: { message: 'slow down' } } }
      : { text: 'Free again.' },
  stumbles: (_, __, count) =>
    count === 0 ? { kind: 'answer', status: 500, headers: soon, body: 'oops' } : { text: 'Up again.' },
  full: () => ({ kind: 'answer', status: 429, headers: soon, body: { error: { message: 'no room' } } }),
  fails: () => ({ kind: 'answer', status: 500, headers: soon, body: { error: { message: 'broken' } } }),
  rejects: () => ({
    kind: 'answer',
    status: 400,
    body: {
      error: { message: 'temperature is too high', type: 'invalid_request_error', param: 'temperature' },
    },
  }),
  breaks: () => ({ kind: 'resetMidStream', chunks: 3 }),
  lingers: () => ({ kind: 'hangMidStream', chunks: 3 }),
};

const soon = { 'retry-after': '0', 'retry-after-ms': '10' };

export const modelNames = Object.keys(models);

/** The behaviour of a node that plays all models; it counts the requests to each. */
export function playModels(): Behaviour {
  const counts = new Map<string, number>();
  const run = (exchange: Exchange): Promise<void> => {
    const body = jsonBody(exchange.request) ?? {};
    const name = modelOf(body);
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    const answer = models[name]?.(body['messages'] as ChatMessage[], body, count);
    if (answer === undefined) throw new Error(`no scripted model is called ${name}`);
    return 'kind' in answer ? play(answer, exchange) : say(exchange, body, answer);
  };
  return { kind: 'run', run };
}

function resultsIn(messages: readonly ChatMessage[]): string[] {
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
}

async function say(exchange: Exchange, body: JsonObject, turn: Turn): Promise<void> {
  const finish = turn.finish ?? (turn.calls === undefined ? 'stop' : 'tool_calls');
  const common = { id: 'chatcmpl-1', created: 1_750_000_000, model: modelOf(body) };
  const calls = (turn.calls ?? []).map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }));
  if (body['stream'] !== true) {
    const message = {
      role: 'assistant',
      content: turn.text ?? null,
      ...(turn.reasoning === undefined ? {} : { reasoning_content: turn.reasoning }),
      ...(turn.refusal === undefined ? {} : { refusal: turn.refusal }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
    const choices = [{ index: 0, message, finish_reason: finish }];
    sendJson(exchange, 200, { ...common, object: 'chat.completion', choices, usage });
    return;
  }
  startEvents(exchange);
  const send = (delta: object, reason: string | null = null) =>
    sendData(exchange, {
      ...common,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
  await send({ role: 'assistant', content: '' });
  for (const piece of pieces(turn.reasoning)) await send({ reasoning_content: piece });
  for (const piece of pieces(turn.refusal)) await send({ refusal: piece });
  for (const piece of pieces(turn.text)) await send({ content: piece });
  for (const [index, call] of calls.entries()) {
    await send({ tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: '' } }] });
    for (const piece of pieces(call.function.arguments))
      await send({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  await send({}, finish);
  await sendData(exchange, { ...common, object: 'chat.completion.chunk', choices: [], usage });
  await write(exchange, 'data: [DONE]\n\n');
  exchange.response.end();
}

const usage = {
  prompt_tokens: 20,
  completion_tokens: 8,
  total_tokens: 28,
  prompt_tokens_details: { cached_tokens: 5 },
  completion_tokens_details: { reasoning_tokens: 3 },
};

function pieces(text = ''): string[] {
  return text.match(/.{1,6}/gsu) ?? [];
}
