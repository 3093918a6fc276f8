// What model servers send in chat-completions besides what the types of the SDK promise, collected from the vendors'
// documentation and from recorded answers: OpenRouter, Gemini, LiteLLM, DeepSeek, Mistral, Groq, Perplexity, vLLM, llama.cpp, xAI, Azure.

export interface VendorChatCompletion {
  object: 'chat.completion';
  choices: VendorChoice[];
  /** OpenRouter: who served. */
  provider?: string;
  /** Perplexity, xAI: sources of the answer. */
  citations?: string[];
  search_results?: VendorSearchResult[];
  images?: VendorImage[];
  related_questions?: string[];
  usage?: VendorUsage;
  x_groq?: { id?: string; usage?: VendorUsage };
  service_tier?: string;
  system_fingerprint?: string;
  /** llama.cpp. */
  timings?: { prompt_ms?: number; predicted_ms?: number };
  prompt_filter_results?: { prompt_index?: number }[];
  /** vLLM. */
  prompt_logprobs?: { token?: string }[];
  kv_transfer_params?: { remote?: string };
}

export interface VendorChatCompletionChunk extends Omit<VendorChatCompletion, 'object' | 'choices'> {
  object: 'chat.completion.chunk';
  choices: VendorChunkChoice[];
}

interface VendorChoice {
  index: 0;
  finish_reason: 'stop';
  /** OpenRouter. */
  native_finish_reason?: string;
  /** vLLM: the stop string that was met. */
  stop_reason?: string;
  token_ids?: number[];
  content_filter_results?: { hate?: { filtered?: boolean; severity?: string } };
  logprobs?: VendorLogprobs;
  message: VendorMessage;
}

interface VendorChunkChoice extends Omit<VendorChoice, 'message' | 'finish_reason'> {
  finish_reason: null;
  delta: VendorMessage;
}

interface VendorLogprobs {
  content?: VendorLogprob[];
  refusal?: VendorLogprob[];
}

interface VendorLogprob {
  token: string;
  logprob: number;
  bytes: number[] | null;
  top_logprobs: { token: string; logprob: number; bytes: number[] | null }[];
}

interface VendorMessage {
  role: 'assistant';
  content: string | VendorPart[] | null;
  refusal?: string;
  /** DeepSeek, xAI, Moonshot, Qwen, llama.cpp. */
  reasoning_content?: string;
  /** OpenRouter, Groq, vLLM, Ollama. */
  reasoning?: string;
  /** LiteLLM. */
  thinking_blocks?: VendorThinkingBlock[];
  /** OpenRouter. */
  reasoning_details?: VendorReasoningDetail[];
  /** OpenRouter, Gemini: pictures that the model made. */
  images?: VendorImage[];
  audio?: { id?: string; data?: string; transcript?: string; expires_at?: number };
  annotations?: VendorAnnotation[];
  citations?: string[];
  search_results?: VendorSearchResult[];
  /** Groq: tools that its servers ran. */
  executed_tools?: { index?: number; type?: string; arguments?: string; output?: string }[];
  tool_calls?: VendorToolCall[];
  /** LiteLLM. */
  provider_specific_fields?: { citations?: string[]; thought_signatures?: string[] };
  /** Gemini. */
  extra_content?: { google?: { thought_signature?: string; thought?: boolean } };
  /** Azure. */
  context?: { intent?: string; citations?: { title?: string; url?: string; content?: string }[] };
  end_turn?: boolean;
}

type VendorPart =
  | { type: 'text'; text: string; annotations?: VendorAnnotation[] }
  | {
      type: 'thinking';
      thinking: string | { type: 'text'; text: string }[];
      signature?: string;
      closed?: boolean;
    }
  | { type: 'refusal'; refusal: string }
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'output_audio'; audio: { data: string } }
  | { type: 'input_audio'; input_audio: { data: string; format: string } }
  | { type: 'file'; file: { file_id?: string; file_data?: string } }
  /** Mistral: sources of the text beside it. */
  | { type: 'reference'; reference_ids: number[] }
  | { type: 'tool_reference'; tool: string; title: string; url?: string };

type VendorThinkingBlock =
  | { type: 'thinking'; thinking: string; signature?: string }
  | { type: 'redacted_thinking'; data: string };

type VendorReasoningDetail =
  | {
      type: 'reasoning.text';
      text: string;
      signature?: string;
      id?: string;
      format?: string;
      index?: number;
    }
  | { type: 'reasoning.summary'; summary: string; id?: string; format?: string; index?: number }
  | { type: 'reasoning.encrypted'; data: string; id?: string; format?: string; index?: number };

interface VendorImage {
  type?: 'image_url';
  index?: number;
  image_url: { url: string };
}

type VendorAnnotation =
  | {
      type: 'url_citation';
      url_citation: {
        url: string;
        title?: string;
        start_index?: number;
        end_index?: number;
        content?: string;
      };
    }
  | { type: 'file'; file: { hash?: string; name?: string; content?: { type: 'text'; text: string }[] } }
  | { type: 'file_citation'; file_citation: { file_id: string; filename?: string } };

interface VendorSearchResult {
  title: string;
  url: string;
  date?: string;
  snippet?: string;
}

interface VendorToolCall {
  index?: 0;
  id: string;
  type: 'function';
  function: { name: string; arguments: string; thought_signature?: string };
  extra_content?: { google?: { thought_signature?: string } };
  thought_signature?: string;
  provider_specific_fields?: { thought_signature?: string };
}

interface VendorUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens?: number;
  prompt_cache_hit_tokens?: number;
  prompt_cache_miss_tokens?: number;
  cache_creation_input_tokens?: number;
  cache_read_input_tokens?: number;
  /** OpenRouter, Perplexity. */
  cost?: number;
  cost_details?: { upstream_inference_cost?: number };
  /** xAI. */
  num_sources_used?: number;
  /** Groq. */
  queue_time?: number;
  prompt_time?: number;
  completion_time?: number;
  total_time?: number;
  prompt_tokens_details?: {
    cached_tokens?: number;
    cache_write_tokens?: number;
    audio_tokens?: number;
    image_tokens?: number;
    text_tokens?: number;
    video_tokens?: number;
  };
  completion_tokens_details?: {
    reasoning_tokens?: number;
    audio_tokens?: number;
    image_tokens?: number;
    text_tokens?: number;
    accepted_prediction_tokens?: number;
    rejected_prediction_tokens?: number;
  };
  server_tool_use?: { web_search_requests?: number };
}
