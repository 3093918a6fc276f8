import type {
  BetaMessage,
  MessageCreateParams as BetaMessageCreateParams,
  BetaRawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/beta/messages/messages';
import type {
  Message,
  MessageCreateParams,
  RawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/messages/messages';
import type {
  BetaMessage as PreviousBetaMessage,
  MessageCreateParams as PreviousBetaMessageCreateParams,
  BetaRawMessageStreamEvent as PreviousBetaRawMessageStreamEvent,
} from 'anthropic-previous/resources/beta/messages/messages';
import type {
  Message as PreviousMessage,
  MessageCreateParams as PreviousMessageCreateParams,
  RawMessageStreamEvent as PreviousRawMessageStreamEvent,
} from 'anthropic-previous/resources/messages/messages';
import type {
  BetaResponse,
  ResponseCreateParams as BetaResponseCreateParams,
  BetaResponseStreamEvent,
} from 'openai/resources/beta/responses/responses';
import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions/completions';
import type { Completion, CompletionCreateParams } from 'openai/resources/completions';
import type {
  Response,
  ResponseCreateParams,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';
import type {
  BetaResponse as PreviousBetaResponse,
  ResponseCreateParams as PreviousBetaResponseCreateParams,
  BetaResponseStreamEvent as PreviousBetaResponseStreamEvent,
} from 'openai-previous/resources/beta/responses/responses';
import type {
  ChatCompletion as PreviousChatCompletion,
  ChatCompletionChunk as PreviousChatCompletionChunk,
} from 'openai-previous/resources/chat/completions/completions';
import type {
  Completion as PreviousCompletion,
  CompletionCreateParams as PreviousCompletionCreateParams,
} from 'openai-previous/resources/completions';
import type {
  Response as PreviousResponse,
  ResponseCreateParams as PreviousResponseCreateParams,
  ResponseStreamEvent as PreviousResponseStreamEvent,
} from 'openai-previous/resources/responses/responses';
import type { VendorChatCompletion, VendorChatCompletionChunk } from './vendor-chat.ts';

// What `npm run generate` reads out of the SDKs: each interface is one SDK in one version, each member a root.

export interface Anthropic {
  readonly request: MessageCreateParams;
  readonly betaRequest: BetaMessageCreateParams;
  readonly reply: Message;
  readonly betaReply: BetaMessage;
  readonly event: RawMessageStreamEvent;
  readonly betaEvent: BetaRawMessageStreamEvent;
}

export interface AnthropicPrevious {
  readonly request: PreviousMessageCreateParams;
  readonly betaRequest: PreviousBetaMessageCreateParams;
  readonly reply: PreviousMessage;
  readonly betaReply: PreviousBetaMessage;
  readonly event: PreviousRawMessageStreamEvent;
  readonly betaEvent: PreviousBetaRawMessageStreamEvent;
}

export interface OpenAI {
  readonly request: ResponseCreateParams;
  readonly betaRequest: BetaResponseCreateParams;
  readonly completionsRequest: CompletionCreateParams;
  readonly reply: Response;
  readonly betaReply: BetaResponse;
  readonly event: ResponseStreamEvent;
  readonly betaEvent: BetaResponseStreamEvent;
  readonly completionsReply: Completion;
  readonly chatReply: ChatCompletion;
  readonly chatChunk: ChatCompletionChunk;
}

export interface OpenAIPrevious {
  readonly request: PreviousResponseCreateParams;
  readonly betaRequest: PreviousBetaResponseCreateParams;
  readonly completionsRequest: PreviousCompletionCreateParams;
  readonly reply: PreviousResponse;
  readonly betaReply: PreviousBetaResponse;
  readonly event: PreviousResponseStreamEvent;
  readonly betaEvent: PreviousBetaResponseStreamEvent;
  readonly completionsReply: PreviousCompletion;
  readonly chatReply: PreviousChatCompletion;
  readonly chatChunk: PreviousChatCompletionChunk;
}

/** What servers of others add to chat-completions. */
export interface Vendors {
  readonly chatReply: VendorChatCompletion;
  readonly chatChunk: VendorChatCompletionChunk;
}
