import type { Effort } from './dialect.ts';
import type { JsonObject } from './json.ts';
import type { UnreadText } from './unread-text.ts';

// The chat-completions request as we write it: only fields that a node is known to take.

export interface ChatTextPart {
  readonly type: 'text';
  readonly text: UnreadText;
}

export interface ChatImagePart {
  readonly type: 'image_url';
  readonly image_url: { readonly url: UnreadText; readonly detail?: string };
}

export interface ChatFilePart {
  readonly type: 'file';
  readonly file: { readonly filename: string; readonly file_data: UnreadText };
}

export interface ChatAudioPart {
  readonly type: 'input_audio';
  readonly input_audio: { readonly data: UnreadText; readonly format: string };
}

export type ChatPart = ChatTextPart | ChatImagePart | ChatFilePart | ChatAudioPart;

export interface ChatCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  /** What Gemini signed. */
  readonly extra_content?: JsonObject;
}

export interface ChatSystemMessage {
  readonly role: 'system' | 'developer';
  readonly content: UnreadText;
}

export interface ChatUserMessage {
  readonly role: 'user';
  readonly content: UnreadText | readonly ChatPart[];
}

export interface ChatAssistantMessage {
  readonly role: 'assistant';
  readonly content: UnreadText | null;
  readonly refusal?: string;
  readonly reasoning_content?: string;
  readonly reasoning?: string;
  /** What OpenRouter signed or encrypted. */
  readonly reasoning_details?: readonly JsonObject[];
  /** What Gemini signed. */
  readonly extra_content?: JsonObject;
  readonly tool_calls?: readonly ChatCall[];
}

export interface ChatToolMessage {
  readonly role: 'tool';
  readonly tool_call_id: string;
  readonly content: UnreadText | readonly ChatPart[];
}

export type ChatMessage = ChatSystemMessage | ChatUserMessage | ChatAssistantMessage | ChatToolMessage;

export interface ChatTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: UnreadText;
    readonly parameters: unknown;
    readonly strict?: true;
  };
}

export type ChatToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly type: 'function'; readonly function: { readonly name: string } };

export type ChatResponseFormat =
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly json_schema: {
        readonly name: string;
        readonly schema: unknown;
        readonly strict?: boolean;
        readonly description?: string;
      };
    };

/** JSON leaves undefined fields out: one literal costs a fraction of spreading the fields that exist. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly max_tokens?: number | undefined;
  readonly max_completion_tokens?: number | undefined;
  readonly stop?: string | readonly string[] | undefined;
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
  readonly top_k?: number | undefined;
  readonly presence_penalty?: number | undefined;
  readonly frequency_penalty?: number | undefined;
  readonly seed?: number | undefined;
  readonly logit_bias?: unknown | undefined;
  readonly logprobs?: boolean | undefined;
  readonly top_logprobs?: number | undefined;
  readonly tools?: readonly ChatTool[] | undefined;
  readonly tool_choice?: ChatToolChoice | undefined;
  readonly parallel_tool_calls?: boolean | undefined;
  readonly response_format?: ChatResponseFormat | undefined;
  readonly reasoning_effort?: Effort | undefined;
  readonly verbosity?: string | undefined;
  readonly user?: string | undefined;
  readonly safety_identifier?: string | undefined;
  readonly prompt_cache_key?: string | undefined;
  readonly prompt_cache_retention?: string | undefined;
  readonly prompt_cache_options?: object | undefined;
  readonly service_tier?: string | undefined;
  readonly stream?: boolean | undefined;
  readonly stream_options?: { readonly include_usage: true } | undefined;
}
