import { readChatBody } from '../../../src/convert/chat-body.ts';
import {
  type Converted,
  type ConvertedFormat,
  convertedFormats,
} from '../../../src/convert/converted-formats.ts';
import { resolveDialect } from '../../../src/convert/dialect.ts';
import { SseReader } from '../../../src/convert/sse-reader.ts';
import { UpstreamFault } from '../../../src/convert/upstream-fault.ts';

/** How answers are asked for in a format, and the types that its replies and events have. */
export interface ReplyFormat {
  readonly name: string;
  readonly format: ConvertedFormat;
  readonly request: Readonly<Record<string, unknown>>;
  /** Files of the types. */
  readonly graphs: readonly string[];
  readonly replies: readonly string[];
  readonly events: readonly string[];
}

const schema = { type: 'object', properties: {} };
const openai = {
  graphs: ['openai', 'openai-previous'],
  replies: ['reply', 'betaReply'],
  events: ['event', 'betaEvent'],
};
const functions = [{ type: 'function', name: 'lookup', parameters: schema }];

export const replyFormats: readonly ReplyFormat[] = [
  {
    name: 'messages',
    format: 'messages',
    request: {
      model: 'm',
      max_tokens: 1000,
      messages: [{ role: 'user', content: 'hello' }],
      stop_sequences: ['END'],
      tools: [{ name: 'lookup', input_schema: schema }],
    },
    graphs: ['anthropic', 'anthropic-previous'],
    replies: ['reply', 'betaReply'],
    events: ['event', 'betaEvent'],
  },
  {
    name: 'responses',
    format: 'responses',
    request: { model: 'm', input: 'hello', include: ['message.output_text.logprobs'], tools: functions },
    ...openai,
  },
  {
    name: 'responses with summaries',
    format: 'responses',
    request: {
      model: 'm',
      input: 'hello',
      reasoning: { summary: 'auto' },
      tools: [...functions, { type: 'custom', name: 'free' }, { type: 'tool_search', execution: 'client' }],
    },
    ...openai,
  },
  {
    name: 'completions',
    format: 'completions',
    request: { model: 'm', prompt: 'hello' },
    graphs: ['openai', 'openai-previous'],
    replies: ['completionsReply'],
    events: ['completionsReply'],
  },
];

/** What the caller gets for an answer, with what was counted as lost; `fault` where it is an error. */
export interface ConvertedAnswer {
  readonly reply?: unknown;
  readonly events: readonly unknown[];
  /** As it is sent. */
  readonly text: string;
  readonly lost: readonly string[];
  readonly fault?: UpstreamFault;
}

/** The request as a node is asked it, and the way back. */
function converted({ format, request }: ReplyFormat, stream: boolean): Converted {
  const dialect = resolveDialect({ host: 'api.openai.com', model: 'm' });
  const asked = stream && format === 'completions' ? { stream_options: { include_usage: true } } : {};
  const options = { model: 'm', dialect, newId: (prefix: string) => `${prefix}1`, now: () => 0 };
  return convertedFormats[format].convert({ ...request, ...asked, stream }, options);
}

/** A whole answer, converted. */
export function plainAnswer(frame: ReplyFormat, body: string): ConvertedAnswer {
  try {
    const { json, lost } = converted(frame, false).reply([readChatBody(Buffer.from(body))]);
    return { reply: JSON.parse(json), events: [], text: json, lost };
  } catch (error) {
    if (!(error instanceof UpstreamFault)) throw error;
    return { events: [], text: '', lost: [], fault: error };
  }
}

/** A streamed answer, converted: the events that the caller reads. */
export function streamedAnswer(frame: ReplyFormat, stream: string): ConvertedAnswer {
  const conversion = converted(frame, true).stream(0, undefined);
  const written = [...conversion.push(Buffer.from(stream)), ...conversion.end()].join('');
  const reader = new SseReader();
  const events = [...reader.push(Buffer.from(written)), ...reader.end()].flatMap(({ data }) =>
    data === '[DONE]' ? [] : [JSON.parse(data) as unknown],
  );
  const { fault, lost } = conversion;
  return { events, text: written, lost, ...(fault === undefined ? {} : { fault }) };
}
