import type { ChatAnswer } from './chat-reply.ts';
import type { ChatRequest } from './chat-request.ts';
import { convertCompletionsReply } from './completions-reply.ts';
import { type CompletionsState, convertCompletionsRequest } from './completions-request.ts';
import { type CompletionsOpened, createCompletionsStream } from './completions-stream.ts';
import type { ConversionOptions, ConvertedError, ConvertedReply, ConvertedStream } from './conversion.ts';
import type { ConversionError } from './conversion-error.ts';
import { messagesRefusal } from './messages-errors.ts';
import { convertMessagesReply } from './messages-reply.ts';
import { convertCountTokensRequest, convertMessagesRequest, type MessagesState } from './messages-request.ts';
import { createMessagesStream, type MessagesOpened } from './messages-stream.ts';
import { openAIRefusal } from './openai-errors.ts';
import { responsesRefusal } from './responses-errors.ts';
import { convertResponsesReply } from './responses-reply.ts';
import { convertResponsesRequest } from './responses-request.ts';
import type { ResponsesState } from './responses-state.ts';
import { createResponsesStream, type ResponsesOpened } from './responses-stream.ts';
import { UpstreamFault } from './upstream-fault.ts';

/** Formats that are converted to chat-completions for nodes that do not speak them. */
export type ConvertedFormat = 'messages' | 'responses' | 'completions' | 'count_tokens';

/** The conversions of the answer to a request. */
export interface WayBack {
  /** The answers to all choices, in their order, as the caller's reply. May throw an UpstreamFault. */
  reply(answers: readonly ChatAnswer[]): ConvertedReply;
  /** The stream of one choice; `opened` is what the caller has seen so far, of an earlier stream of the same format. */
  stream(choice: number, opened: unknown): ConvertedStream<unknown>;
}

/** A caller's request converted for one node, and the conversions of its answer. */
export interface Converted extends WayBack {
  /** How many chat requests it takes: one for each choice, which only completions may have several of. */
  readonly choices: number;
  /** Those that were not sent yet; taken out as they are, because a stream runs long after its request was sent. */
  readonly chats: ChatRequest[];
  readonly dropped: readonly string[];
  readonly lossy: boolean;
  /** What the way back needs to know of the request: the format's own. */
  readonly state: unknown;
}

/** One format's conversion; its own types do not appear outside. */
interface FormatConversion {
  convert(body: unknown, options: ConversionOptions): Converted;
  /** The way back of a request, from its state. */
  wayBack(state: unknown): WayBack;
  readonly refusal: (error: ConversionError) => ConvertedError;
}

/** Every format that is converted to chat-completions. */
export const convertedFormats: Readonly<Record<ConvertedFormat, FormatConversion>> = {
  messages: {
    convert(body, options) {
      const { chat, state, dropped, lossy } = convertMessagesRequest(body, options);
      return {
        choices: 1,
        chats: [chat],
        dropped,
        lossy,
        state,
        ...messagesBack(state),
      };
    },
    wayBack: (state) => messagesBack(state as MessagesState),
    refusal: messagesRefusal,
  },
  responses: {
    convert(body, options) {
      const { chat, state, dropped, lossy } = convertResponsesRequest(body, options);
      return {
        choices: 1,
        chats: [chat],
        dropped,
        lossy,
        state,
        ...responsesBack(state),
      };
    },
    wayBack: (state) => responsesBack(state as ResponsesState),
    refusal: responsesRefusal,
  },
  completions: {
    convert(body, options) {
      const { chats, state, dropped, lossy } = convertCompletionsRequest(body, options);
      return {
        choices: chats.length,
        chats: [...chats],
        dropped,
        lossy,
        state,
        ...completionsBack(state),
      };
    },
    wayBack: (state) => completionsBack(state as CompletionsState),
    refusal: openAIRefusal,
  },
  count_tokens: {
    // Counting generates no answer, so nothing can be lost.
    convert(body, options) {
      const { chat, dropped } = convertCountTokensRequest(body, { ...options, strict: false });
      return { choices: 1, chats: [chat], dropped, lossy: false, state: undefined, ...noWayBack };
    },
    wayBack: () => noWayBack,
    refusal: messagesRefusal,
  },
};

function messagesBack(state: MessagesState): WayBack {
  return {
    reply: (answers) => convertMessagesReply(only(answers), state),
    stream: (_choice, opened) => createMessagesStream(state, opened as MessagesOpened | undefined),
  };
}

function responsesBack(state: ResponsesState): WayBack {
  return {
    reply: (answers) => convertResponsesReply(only(answers), state),
    stream: (_choice, opened) => createResponsesStream(state, opened as ResponsesOpened | undefined),
  };
}

function completionsBack(state: CompletionsState): WayBack {
  return {
    reply: (answers) => convertCompletionsReply(answers, state),
    stream: (choice, opened) =>
      createCompletionsStream(state, choice, opened as CompletionsOpened | undefined),
  };
}

const noWayBack: WayBack = { reply: unanswerable, stream: unanswerable };

function unanswerable(): never {
  throw new Error('a count of tokens has no chat answer');
}

function only(answers: readonly ChatAnswer[]): ChatAnswer {
  const [answer] = answers;
  if (answer === undefined) throw new UpstreamFault('empty', 'The model server sent no answer.');
  return answer;
}
