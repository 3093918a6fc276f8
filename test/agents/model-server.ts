import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { checkChatRequest } from '../wire/grammar/chat-request.ts';
import { type Answer, answerPlain, answerStreamed, type Call } from './model-answer.ts';

/** A call that the model made and what came of it. */
export interface ToolResult {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly result: string;
}

/** A chat-completions request as it came, once the strict server has taken it. */
export interface ChatRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly [field: string]: unknown;
}

export interface ChatMessage {
  readonly role: string;
  readonly content: string | null | readonly { readonly type: string; readonly text?: string }[];
  readonly tool_calls?: readonly ChatCall[];
  readonly tool_call_id?: string;
}

interface ChatCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** Decides what the model does next from all that the conversation's tools have told so far. Throws when they told wrong. */
export type Play = (step: number, results: readonly ToolResult[], request: ChatRequest) => Answer;

/** A server of one model that knows chat-completions alone and takes nothing that a strict one would refuse. */
export interface ModelServer extends AsyncDisposable {
  readonly baseURL: string;
  readonly requests: readonly ChatRequest[];
  /** What was wrong with requests; empty is well. */
  readonly problems: readonly string[];
}

/** Starts it on a free port of loopback. `key` is the bearer credential it demands. */
export async function startModelServer(options: {
  readonly model: string;
  readonly key: string;
  readonly play: Play;
  /** The path that the agent asks, and whether it offers tools. */
  readonly task: { readonly path: string; readonly withoutTools?: true };
}): Promise<ModelServer> {
  const requests: ChatRequest[] = [];
  const problems: string[] = [];
  const broken = new Set<number>();
  const made = new Map<string, Answer>();

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    if (request.headers.authorization !== `Bearer ${options.key}`)
      throw new Error('the credential is not the node’s own');
    if (request.method === 'GET' && request.url === '/v1/models')
      return json(response, 200, { object: 'list', data: [{ id: options.model, object: 'model' }] });
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions')
      throw new Error(`${request.method} ${request.url} is not of chat-completions`);
    checkHead(request);
    const chat = JSON.parse(body) as ChatRequest;
    requests.push(chat);
    // What an agent sends in this format is passed on as it is.
    if (options.task.path !== '/chat/completions') checkChatRequest(chat);
    if (chat.model !== options.model) throw new Error(`asked for the model ${chat.model}`);
    const turns = chat.messages.filter(({ tool_calls }) => tool_calls !== undefined);
    // Requests without tools are by the way, such as the one for a title of the conversation.
    const aside = chat.tools === undefined && options.task.withoutTools !== true;
    if (!aside) checkHistory(turns, made);
    const next = aside
      ? { text: 'A short title' }
      : options.play(turns.length, resultsIn(chat.messages), chat);
    if (!aside) for (const call of next.calls ?? []) made.set(call.id, next);
    const number = requests.length;
    const breaks = next.breaksOnce === true && !broken.has(turns.length);
    if (breaks) broken.add(turns.length);
    if (chat.stream === true) await answerStreamed(response, number, options.model, next, breaks);
    else json(response, 200, answerPlain(number, options.model, next));
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      problems.push(error instanceof Error ? error.message : String(error));
      if (response.headersSent) response.destroy();
      else json(response, 400, { error: { message: problems.at(-1), type: 'invalid_request_error' } });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    problems,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Nothing of the caller may reach the node: no more than the request itself. */
function checkHead({ headers }: IncomingMessage): void {
  const odd = Object.keys(headers).filter((name) =>
    /^(anthropic-|x-api-key|x-claude|x-stainless|openai-|session|cookie)/.test(name),
  );
  if (odd.length > 0) throw new Error(`headers of the caller: ${odd.join(', ')}`);
}

/** What the model has said must come back as it said it, and all of it. */
function checkHistory(turns: readonly ChatMessage[], made: ReadonlyMap<string, Answer>): void {
  for (const [index, { tool_calls: calls = [] }] of turns.entries()) {
    const said = made.get(calls[0]?.id ?? '')?.calls ?? [];
    const same = said.length === calls.length && said.every((call, at) => isReplay(calls[at], call));
    if (!same)
      throw new Error(`turn ${index} came back as ${JSON.stringify(calls)}, not ${JSON.stringify(said)}`);
  }
}

function isReplay(replay: ChatCall | undefined, call: Call): boolean {
  if (replay?.id !== call.id || replay.function.name !== call.name) return false;
  const told = JSON.parse(replay.function.arguments) as Record<string, unknown>;
  // Claude Code adds the defaults of its tools, and takes nothing away.
  return Object.entries(call.arguments).every(([name, value]) => isDeepStrictEqual(told[name], value));
}

/** Every call with its result, in the order of the calls. Throws where one has none. */
function resultsIn(messages: readonly ChatMessage[]): ToolResult[] {
  return messages.flatMap(({ tool_calls: calls = [] }) =>
    calls.map(({ id, function: { name, arguments: args } }) => {
      const result = messages.find((message) => message.tool_call_id === id);
      if (result === undefined) throw new Error(`call ${id} of ${name} has no result`);
      return { name, arguments: JSON.parse(args) as Record<string, unknown>, result: textOf(result) };
    }),
  );
}

/** The text of a message, its parts joined. */
function textOf({ content }: ChatMessage): string {
  if (content === null || typeof content === 'string') return content ?? '';
  return content.map((part) => part.text ?? '').join('\n');
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
