import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';

/** What the model says in one turn: thoughts, then text, then calls side by side. */
export interface Answer {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly Call[];
  /** The stream breaks behind its text when this is said for the first time. */
  readonly breaksOnce?: boolean;
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Tokens of every answer, as the node counts them. */
const usage = {
  prompt_tokens: 1000,
  completion_tokens: 50,
  total_tokens: 1050,
  prompt_tokens_details: { cached_tokens: 600 },
  completion_tokens_details: { reasoning_tokens: 10 },
};

/** The body of a plain answer. */
export function answerPlain(number: number, model: string, answer: Answer): unknown {
  const message = {
    role: 'assistant',
    content: answer.text ?? null,
    ...(answer.reasoning === undefined ? {} : { reasoning_content: answer.reasoning }),
    ...(answer.calls === undefined ? {} : { tool_calls: answer.calls.map(toolCall) }),
  };
  const choices = [{ index: 0, message, finish_reason: finishOf(answer) }];
  return { id: `chatcmpl-${number}`, object: 'chat.completion', created: 1, model, choices, usage };
}

/** Streams an answer in small pieces; the arguments of calls side by side arrive interleaved. */
export async function answerStreamed(
  response: ServerResponse,
  number: number,
  model: string,
  answer: Answer,
  breaks: boolean,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const common = { id: `chatcmpl-${number}`, object: 'chat.completion.chunk', created: 1, model };
  const send = async (delta: unknown, finish: string | null = null): Promise<void> => {
    const chunk = { ...common, choices: [{ index: 0, delta, finish_reason: finish }] };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    await turn();
  };
  await send({ role: 'assistant', content: '' });
  for (const piece of pieces(answer.reasoning ?? '')) await send({ reasoning_content: piece });
  for (const piece of pieces(answer.text ?? '')) await send({ content: piece });
  if (breaks) return void response.destroy();
  const calls = answer.calls ?? [];
  for (const [index, call] of calls.entries())
    await send({ tool_calls: [{ index, ...toolCall(call), function: { name: call.name, arguments: '' } }] });
  const argumentsOf = calls.map((call) => pieces(JSON.stringify(call.arguments)));
  for (let at = 0; at < Math.max(0, ...argumentsOf.map(({ length }) => length)); at++) {
    for (const [index, parts] of argumentsOf.entries())
      if (parts[at] !== undefined)
        await send({ tool_calls: [{ index, function: { arguments: parts[at] } }] });
  }
  await send({}, finishOf(answer));
  response.write(`data: ${JSON.stringify({ ...common, choices: [], usage })}\n\n`);
  response.end('data: [DONE]\n\n');
}

function finishOf({ calls = [] }: Answer): string {
  return calls.length > 0 ? 'tool_calls' : 'stop';
}

function toolCall({ id, name, arguments: args }: Call): object {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
}

function pieces(text: string): string[] {
  return text.match(/.{1,11}/gsu) ?? [];
}
