/** One message of the conversation. */
export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

interface TryFormat {
  readonly label: string;
  readonly path: string;
  readonly body: (
    model: string,
    turns: readonly Turn[],
    stream: boolean,
  ) => Readonly<Record<string, unknown>>;
  /** The text in one event of a stream, or in a complete answer. */
  readonly textOf: (said: unknown) => string;
  /** Whether an event of a stream says that the answer is complete; `[DONE]` does so in every format. */
  readonly isEnd: (said: unknown) => boolean;
}

const maxTokens = 2_048;

/** The formats for trying a model, as the vendors' SDKs send them. */
export const tryFormats: Readonly<Record<'chat' | 'responses' | 'messages' | 'completions', TryFormat>> = {
  chat: {
    label: 'Chat completions',
    path: 'chat/completions',
    body: (model, turns, stream) => ({
      model,
      stream,
      messages: turns.map(({ role, text }) => ({ role, content: text })),
    }),
    textOf: (said) =>
      text(said, ['choices', 0, 'delta', 'content']) || text(said, ['choices', 0, 'message', 'content']),
    isEnd: hasFinished,
  },
  responses: {
    label: 'Responses',
    path: 'responses',
    body: (model, turns, stream) => ({
      model,
      stream,
      store: false,
      input: turns.map(({ role, text: content }) => ({ role, content })),
    }),
    textOf: (said) =>
      at(said, ['type']) === 'response.output_text.delta'
        ? text(said, ['delta'])
        : texts(said, ['output'], ['content'], ['text']),
    isEnd: (said) => ['response.completed', 'response.incomplete'].includes(text(said, ['type'])),
  },
  messages: {
    label: 'Messages',
    path: 'messages',
    body: (model, turns, stream) => ({
      model,
      stream,
      max_tokens: maxTokens,
      messages: turns.map(({ role, text: content }) => ({ role, content })),
    }),
    textOf: (said) =>
      at(said, ['type']) === 'content_block_delta'
        ? text(said, ['delta', 'text'])
        : texts([said], [], ['content'], ['text']),
    isEnd: (said) => text(said, ['type']) === 'message_stop',
  },
  completions: {
    label: 'Completions',
    path: 'completions',
    body: (model, turns, stream) => ({
      model,
      stream,
      max_tokens: maxTokens,
      prompt: turns.at(-1)?.text ?? '',
    }),
    textOf: (said) => text(said, ['choices', 0, 'text']),
    isEnd: hasFinished,
  },
};

export type TryFormatName = keyof typeof tryFormats;

/**
 * The message of an error, in a complete answer or an event of a stream, in any format or of the console's own server.
 * Undefined if it is not an error.
 */
export function errorOf(said: unknown): string | undefined {
  const type = text(said, ['type']);
  const response = type === 'response.failed' ? at(said, ['response']) : said;
  const error = at(response, ['error']) ?? undefined;
  if (error === undefined && type !== 'error' && type !== 'response.failed') return undefined;
  // The Responses format has the message beside the type; some servers answer with a text alone.
  return (
    text(error, ['message']) || text(said, ['message']) || text(response, ['error']) || JSON.stringify(said)
  );
}

function hasFinished(said: unknown): boolean {
  return text(said, ['choices', 0, 'finish_reason']) !== '';
}

type Path = readonly (string | number)[];

function at(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Readonly<Record<string | number, unknown>>)[step];
  }
  return found;
}

function text(value: unknown, path: Path): string {
  const found = at(value, path);
  return typeof found === 'string' ? found : '';
}

/** The texts of all parts of all items of a complete answer. */
function texts(value: unknown, items: Path, parts: Path, member: Path): string {
  const list = (found: unknown): readonly unknown[] => (Array.isArray(found) ? found : []);
  return list(at(value, items))
    .flatMap((item) => list(at(item, parts)))
    .map((part) => text(part, member))
    .join('');
}

/** Reads the data of server-sent events from a text that arrives in pieces. An incomplete event waits for the next piece. */
export function createEventReader(): (piece: string) => string[] {
  let rest = '';
  return (piece) => {
    const events = (rest + piece).split(/\r?\n\r?\n/);
    rest = events.pop() ?? '';
    return events
      .map((event) =>
        event
          .split(/\r?\n/)
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5).trimStart())
          .join('\n'),
      )
      .filter((data) => data !== '');
  };
}
