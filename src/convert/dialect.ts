/** `reasoning_effort` in chat-completions, from least to most. */
export const effortScale = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

export type Effort = (typeof effortScale)[number];

/** What a manifest says of a node's or a model's chat-completions (`spec.dialect`); everything may be absent. */
export interface DialectWish {
  readonly maxTokensField?: 'MaxTokens' | 'MaxCompletionTokens' | undefined;
  readonly developerRole?: boolean | undefined;
  readonly systemPlacement?: 'Inline' | 'Leading' | undefined;
  readonly reasoningEfforts?: readonly Effort[] | undefined;
  readonly reasoningHistoryField?: 'None' | 'ReasoningContent' | 'Reasoning' | undefined;
  readonly toolImages?: 'UserMessage' | 'Inline' | undefined;
  readonly files?: boolean | undefined;
  readonly parallelToolCalls?: boolean | undefined;
  readonly openAIExtras?: boolean | undefined;
  readonly samplingExtras?: boolean | undefined;
  readonly tokenize?: boolean | undefined;
}

/** What a node's chat-completions accepts; every setting has a value. */
export interface Dialect {
  readonly maxTokensField: 'MaxTokens' | 'MaxCompletionTokens';
  readonly developerRole: boolean;
  readonly systemPlacement: 'Inline' | 'Leading';
  readonly reasoningEfforts: readonly Effort[];
  /** Whether `reasoning_effort: none` may be sent if a caller switches thinking off: only if a manifest lists it. */
  readonly reasoningOff: boolean;
  readonly reasoningHistoryField: 'None' | 'ReasoningContent' | 'Reasoning';
  readonly toolImages: 'UserMessage' | 'Inline';
  readonly files: boolean;
  readonly parallelToolCalls: boolean;
  readonly openAIExtras: boolean;
  readonly samplingExtras: boolean;
  readonly tokenize: boolean;
  /** How many `stop` texts a request may have; no field of a manifest, because only OpenAI has such a bound. */
  readonly mostStops: number;
}

/** What most chat-completions servers take. */
const common: Dialect = {
  maxTokensField: 'MaxTokens',
  developerRole: false,
  systemPlacement: 'Inline',
  reasoningEfforts: ['low', 'medium', 'high'],
  reasoningOff: false,
  reasoningHistoryField: 'None',
  toolImages: 'UserMessage',
  files: false,
  parallelToolCalls: true,
  openAIExtras: false,
  samplingExtras: false,
  tokenize: false,
  mostStops: Number.MAX_SAFE_INTEGER,
};

const openAI: Dialect = {
  ...common,
  maxTokensField: 'MaxCompletionTokens',
  developerRole: true,
  reasoningEfforts: effortScale,
  files: true,
  openAIExtras: true,
  mostStops: 4,
};

/** Models of OpenAI that answer 400 to `reasoning_effort`. */
const withoutReasoning = /^(?:ft:)?(?:gpt-3\.5|gpt-4|chatgpt-)/;

const openAIHosts =
  /(?:^|\.)(?:api\.openai\.com|openai\.azure\.(?:com|us|cn)|services\.ai\.azure\.com|cognitiveservices\.azure\.(?:com|us|cn))$/;

/** Where a conversion goes: the node's host and model, and what its manifest says. */
export interface DialectQuestion {
  /** Host name of the node's `baseURL`, without port. */
  readonly host: string;
  /** The model as the node calls it. */
  readonly model: string;
  readonly node?: DialectWish | undefined;
  readonly modelWish?: DialectWish | undefined;
}

/** The model's wishes before the node's, before the defaults of the host (dialect.md). */
export function resolveDialect({ host, model, node, modelWish }: DialectQuestion): Dialect {
  const ofHost = openAIHosts.test(host.toLowerCase()) ? openAIDialect(model) : common;
  const wished = { ...stated(node), ...stated(modelWish) };
  const off = wished.reasoningEfforts?.includes('none') ?? false;
  return { ...ofHost, ...wished, reasoningOff: off };
}

function openAIDialect(model: string): Dialect {
  return withoutReasoning.test(model) ? { ...openAI, reasoningEfforts: [] } : openAI;
}

function stated(wish: DialectWish | undefined): Partial<Dialect> {
  return Object.fromEntries(Object.entries(wish ?? {}).filter(([, value]) => value !== undefined));
}
