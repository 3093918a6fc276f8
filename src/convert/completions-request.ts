import type { ChatRequest } from './chat-request.ts';
import type { ConversionOptions } from './conversion.ts';
import { ConversionError } from './conversion-error.ts';
import { defined } from './defined.ts';
import type { Dialect } from './dialect.ts';
import { Dropped } from './dropped.ts';
import type { NewId } from './ids.ts';
import type { JsonObject } from './json.ts';
import { limits } from './limits.ts';
import {
  asList,
  asObject,
  asString,
  checkNesting,
  invalid,
  optionalBoolean,
  optionalNumber,
  optionalObject,
  optionalString,
  pathOf,
  required,
  requiredString,
  unsupportedParameter,
  wrongType,
} from './request-fields.ts';
import { noteUnread } from './unread-fields.ts';

/** What the reply to a completions request needs to know of it. */
export interface CompletionsState {
  /** The model as the caller named it. */
  readonly model: string;
  /** For each choice, by its index, what its text begins with: the prompt with `echo`, else ''. */
  readonly openings: readonly string[];
  /** Whether the caller of a stream asked for usage. */
  readonly includeUsage: boolean;
  readonly newId: NewId;
  /** Unix time in milliseconds. */
  readonly now: () => number;
}

/** A request converted for one node: one chat request per choice, in the order of `index`. Ask them one by one. */
export interface ConvertedCompletions {
  readonly chats: readonly ChatRequest[];
  readonly state: CompletionsState;
  /** Paths that could not be carried, bounded and printable, for `x-model-gateway-dropped`. */
  readonly dropped: readonly string[];
  readonly lossy: boolean;
}

/** Choices of one request, each of which is a request to the node. */
const mostChoices = 16;

/** The vendor's default, however short it is. */
const defaultMaxTokens = 16;

const read: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'max_tokens',
  'n',
  'best_of',
  'echo',
  'suffix',
  'logprobs',
  'stop',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'logit_bias',
  'user',
  'stream',
  'stream_options',
]);

/**
 * Converts a body of `POST /v1/completions` (completions.md): each prompt becomes one user message, `n` asks for
 * each of them n times. Throws a ConversionError for what the vendor refuses and what chat-completions cannot say.
 */
export function convertCompletionsRequest(body: unknown, options: ConversionOptions): ConvertedCompletions {
  const { model, dialect, strict, newId, now } = options;
  const request = asObject(body, 'body');
  const dropped = new Dropped();
  const callerModel = requiredString(request, 'model', '');
  refuseUnsupported(request);
  const prompts = readPrompts(request);
  const stream = optionalBoolean(request, 'stream', '') === true;
  const shared = {
    ...convertSampling(request, dialect),
    ...convertUser(request, dialect, dropped),
    ...(stream ? { stream, stream_options: { include_usage: true } as const } : {}),
  };
  noteUnread(request, { read, hints: new Set() }, dropped);
  dropped.refuseIf(strict);
  const echo = optionalBoolean(request, 'echo', '') === true;
  const streamOptions = optionalObject(request, 'stream_options', '') ?? {};
  const includeUsage = optionalBoolean(streamOptions, 'include_usage', 'stream_options') === true;
  const chats = prompts.map((content) => ({
    model,
    messages: [{ role: 'user', content } as const],
    ...shared,
  }));
  const openings = prompts.map((prompt) => (echo ? prompt : ''));
  const state = { model: callerModel, openings, includeUsage, newId, now };
  return { chats, state, dropped: dropped.list(), lossy: dropped.lossy };
}

function refuseUnsupported(body: JsonObject): void {
  if ((optionalString(body, 'suffix', '') ?? '') !== '')
    throw unsupportedParameter('suffix', 'Insertion is not supported by the model server');
  if ((optionalNumber(body, 'best_of', '', { integer: true, least: 0 }) ?? 1) > 1)
    throw unsupportedParameter('best_of', 'Only 1 is supported by the model server');
  if (optionalNumber(body, 'logprobs', '', { integer: true, least: 0 }) !== undefined)
    throw unsupportedParameter('logprobs', 'Log probabilities are not supported by the model server');
}

/** The prompt of each choice. */
function readPrompts(body: JsonObject): readonly string[] {
  const prompt = required(body, 'prompt', '');
  const prompts = typeof prompt === 'string' ? [prompt] : readList(prompt);
  const n = optionalNumber(body, 'n', '', { integer: true, least: 1 }) ?? 1;
  if (prompts.length * n > mostChoices)
    throw invalid(
      n === 1 ? 'prompt' : 'n',
      `At most ${mostChoices} completions are supported in one request, not ${prompts.length * n}`,
    );
  return prompts.flatMap((text) => Array.from({ length: n }, () => text));
}

function readList(prompt: unknown): readonly string[] {
  if (!Array.isArray(prompt)) throw wrongType('prompt', 'string', prompt);
  const list = asList(prompt, 'prompt', limits.items);
  const [first] = list;
  if (first === undefined)
    throw new ConversionError({ code: 'empty_array', param: 'prompt', reason: 'It must not be empty' });
  if (typeof first === 'number' || Array.isArray(first))
    throw unsupportedParameter('prompt', 'Prompts of token numbers are not supported by the model server');
  return list.map((item, index) => asString(item, pathOf('prompt', index)));
}

function convertSampling(body: JsonObject, dialect: Dialect) {
  const count = optionalNumber(body, 'max_tokens', '', { integer: true, least: 1 }) ?? defaultMaxTokens;
  const logitBias = optionalObject(body, 'logit_bias', '');
  checkNesting(logitBias, 'logit_bias', limits.nesting);
  return {
    ...(dialect.maxTokensField === 'MaxCompletionTokens'
      ? { max_completion_tokens: count }
      : { max_tokens: count }),
    ...defined({
      stop: readStop(body),
      temperature: optionalNumber(body, 'temperature', '', { least: 0, most: 2 }),
      top_p: optionalNumber(body, 'top_p', '', { least: 0, most: 1 }),
      presence_penalty: optionalNumber(body, 'presence_penalty', '', { least: -2, most: 2 }),
      frequency_penalty: optionalNumber(body, 'frequency_penalty', '', { least: -2, most: 2 }),
      seed: optionalNumber(body, 'seed', '', { integer: true }),
      logit_bias: logitBias,
    }),
  };
}

function readStop(body: JsonObject): string | readonly string[] | undefined {
  const stop = body['stop'] ?? undefined;
  if (stop === undefined || typeof stop === 'string') return stop;
  return asList(stop, 'stop', 4).map((item, index) => asString(item, pathOf('stop', index)));
}

function convertUser(body: JsonObject, dialect: Dialect, dropped: Dropped): { readonly user?: string } {
  const user = optionalString(body, 'user', '');
  if (user === undefined) return {};
  if (dialect.openAIExtras && user.length <= 64) return { user };
  dropped.hint('user');
  return {};
}
