/** Formats that say text; each is asked plain and streamed. */
export type SoakFormat = 'chat' | 'completions' | 'messages' | 'responses';

type Json = Readonly<Record<string, unknown>>;

/** What an answer says. */
export interface Said {
  readonly text: string;
  readonly model: unknown;
  /** JSON text of the arguments of a tool call; empty without one. */
  readonly toolArguments: string;
}

export const paths: Readonly<Record<SoakFormat, string>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

/** A request body that says `text`; with `tool` it offers that tool. */
export function asking(
  format: SoakFormat,
  model: string,
  text: string,
  stream: boolean,
  tool?: string,
): Json {
  const parameters = { type: 'object', properties: { number: { type: 'number' } } };
  const messages = [{ role: 'user', content: text }];
  const streamed = stream ? { stream } : {};
  switch (format) {
    case 'chat': {
      const tools =
        tool === undefined ? {} : { tools: [{ type: 'function', function: { name: tool, parameters } }] };
      return { model, messages, ...streamed, ...tools };
    }
    case 'completions':
      return { model, prompt: text, ...streamed };
    case 'messages': {
      const tools = tool === undefined ? {} : { tools: [{ name: tool, input_schema: parameters }] };
      return { model, max_tokens: 4096, messages, ...streamed, ...tools };
    }
    case 'responses': {
      const tools =
        tool === undefined ? {} : { tools: [{ type: 'function', name: tool, parameters, strict: false }] };
      return { model, input: messages, store: false, ...streamed, ...tools };
    }
  }
}

/** Reads a plain answer. @throws when it has not the format's shape */
export function saidPlain(format: SoakFormat, answer: string): Said {
  const json = JSON.parse(answer) as Json;
  const model = json['model'];
  switch (format) {
    case 'chat': {
      const [choice] = json['choices'] as { message: { content?: string; tool_calls?: ToolCalls } }[];
      const call = choice?.message.tool_calls?.[0]?.function.arguments ?? '';
      return { model, text: choice?.message.content ?? '', toolArguments: call };
    }
    case 'completions':
      return { model, text: (json['choices'] as { text: string }[])[0]?.text ?? '', toolArguments: '' };
    case 'messages': {
      const content = json['content'] as { text?: string; input?: unknown }[];
      const input = content.find((block) => block.input !== undefined)?.input;
      return {
        model,
        text: content.map(({ text = '' }) => text).join(''),
        toolArguments: input === undefined ? '' : JSON.stringify(input),
      };
    }
    case 'responses': {
      const output = json['output'] as { content?: { text?: string }[]; arguments?: string }[];
      return {
        model,
        text: output.flatMap(({ content = [] }) => content.map(({ text = '' }) => text)).join(''),
        toolArguments: output.map((item) => item.arguments ?? '').join(''),
      };
    }
  }
}

type ToolCalls = { function: { arguments: string } }[];

const ends: Readonly<Record<SoakFormat, string>> = {
  chat: 'data: [DONE]\n\n',
  completions: 'data: [DONE]\n\n',
  messages: '"type":"message_stop"}\n\n',
  responses: '',
};

/** Reads a streamed answer. @throws when it is not whole */
export function saidStreamed(format: SoakFormat, stream: string): Said {
  if (!stream.endsWith(ends[format])) throw new Error(`the stream has no end: …${stream.slice(-200)}`);
  let [text, toolArguments, model] = ['', '', undefined as unknown];
  let complete = format !== 'responses';
  for (const line of stream.split('\n')) {
    if (!line.startsWith('data: {')) continue;
    const event = JSON.parse(line.slice(6)) as Json;
    if ('error' in event && event['error'] !== null) throw new Error(`an error in the stream: ${line}`);
    if (format === 'chat' || format === 'completions') {
      model = event['model'] ?? model;
      const [choice] = event['choices'] as {
        text?: string;
        delta?: { content?: string; tool_calls?: ToolCalls };
      }[];
      text += choice?.text ?? choice?.delta?.content ?? '';
      toolArguments += choice?.delta?.tool_calls?.[0]?.function.arguments ?? '';
    } else if (format === 'messages') {
      model = (event['message'] as Json | undefined)?.['model'] ?? model;
      const delta = (event['delta'] ?? {}) as { text?: string; partial_json?: string };
      text += delta.text ?? '';
      toolArguments += delta.partial_json ?? '';
    } else {
      if (event['type'] === 'response.output_text.delta') text += String(event['delta']);
      if (event['type'] === 'response.function_call_arguments.delta') {
        toolArguments += String(event['delta']);
      }
      if (event['type'] === 'response.completed') {
        complete = true;
        model = (event['response'] as Json)['model'];
      }
    }
  }
  if (!complete) throw new Error('the stream has no response.completed');
  return { text, model, toolArguments };
}
