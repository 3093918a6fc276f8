import type { ChatRequest } from './chat-request.ts';
import type { ConversionOptions } from './conversion.ts';
import { ConversionError } from './conversion-error.ts';
import { defined } from './defined.ts';
import type { Dialect } from './dialect.ts';
import { Dropped } from './dropped.ts';
import { Fields } from './fields.ts';
import type { NewId } from './ids.ts';
import { limits } from './limits.ts';
import { invalid, unsupportedParameter, unsupportedValue } from './request-fields.ts';
import type { UnreadText } from './unread-text.ts';

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

/**
 * Converts a body of `POST /v1/completions` (completions.md): each prompt becomes one user message, `n` asks for
 * each of them n times. Throws a ConversionError for what the vendor refuses and what chat-completions cannot say.
 */
export function convertCompletionsRequest(body: unknown, options: ConversionOptions): ConvertedCompletions {
  const { model, dialect, strict, newId, now, texts } = options;
  const dropped = new Dropped();
  const request = Fields.of(body, dropped, texts);
  const callerModel = request.neededText('model');
  refuseUnsupported(request);
  const prompts = readPrompts(request);
  const stream = request.flag('stream') === true;
  const shared = {
    ...convertSampling(request, dialect),
    ...convertUser(request, dialect, dropped),
    ...(stream ? { stream, stream_options: { include_usage: true } as const } : {}),
  };
  const echo = request.flag('echo') === true;
  const streamOptions = request.object('stream_options');
  const includeUsage = streamOptions?.flag('include_usage') === true;
  // The gateway never adds obfuscation, so `include_obfuscation` changes nothing in the answer.
  streamOptions?.unneeded('include_obfuscation');
  const chats = prompts.map((content) => ({
    model,
    messages: [{ role: 'user', content } as const],
    ...shared,
  }));
  const openings = prompts.map((prompt) => (echo ? request.read(prompt) : ''));
  if (openings.reduce((all, { length }) => all + length, 0) > limits.echoedPrompts)
    throw unsupportedValue('echo', `At most ${limits.echoedPrompts} characters of prompts are repeated`);
  const state = { model: callerModel, openings, includeUsage, newId, now };
  return { chats, state, ...dropped.settle(strict) };
}

function refuseUnsupported(request: Fields): void {
  if ((request.text('suffix') ?? '') !== '')
    throw unsupportedParameter('suffix', 'Insertion is not supported by the model server');
  if ((request.number('best_of', { integer: true, least: 0 }) ?? 1) > 1)
    throw unsupportedParameter('best_of', 'Only 1 is supported by the model server');
  if (request.number('logprobs', { integer: true, least: 0 }) !== undefined)
    throw unsupportedParameter('logprobs', 'Log probabilities are not supported by the model server');
}

/** The prompt of each choice. */
function readPrompts(request: Fields): readonly UnreadText[] {
  const prompts =
    request.kind('prompt') === 'list' ? readList(request) : [request.neededUnreadText('prompt')];
  const n = request.number('n', { integer: true, least: 1 }) ?? 1;
  if (prompts.length * n > mostChoices)
    throw invalid(
      n === 1 ? 'prompt' : 'n',
      `At most ${mostChoices} completions are supported in one request, not ${prompts.length * n}`,
    );
  return prompts.flatMap((text) => Array.from({ length: n }, () => text));
}

function readList(request: Fields): readonly UnreadText[] {
  const first = request.firstKind('prompt');
  if (first === 'list' || first === 'other')
    throw unsupportedParameter('prompt', 'Prompts of token numbers are not supported by the model server');
  const prompts = request.unreadTexts('prompt', limits.items) ?? [];
  if (prompts.length === 0)
    throw new ConversionError({ code: 'empty_array', param: 'prompt', reason: 'It must not be empty' });
  return prompts;
}

function convertSampling(request: Fields, dialect: Dialect) {
  const count = request.number('max_tokens', { integer: true, least: 1 }) ?? defaultMaxTokens;
  return {
    ...(dialect.maxTokensField === 'MaxCompletionTokens'
      ? { max_completion_tokens: count }
      : { max_tokens: count }),
    ...defined({
      stop: request.textOrTexts('stop', 4),
      temperature: request.number('temperature', { least: 0, most: 2 }),
      top_p: request.number('top_p', { least: 0, most: 1 }),
      presence_penalty: request.number('presence_penalty', { least: -2, most: 2 }),
      frequency_penalty: request.number('frequency_penalty', { least: -2, most: 2 }),
      seed: request.number('seed', { integer: true }),
      logit_bias: request.whole('logit_bias'),
    }),
  };
}

function convertUser(request: Fields, dialect: Dialect, dropped: Dropped): { readonly user?: string } {
  const user = request.text('user');
  if (user === undefined) return {};
  if (dialect.openAIExtras && user.length <= 64) return { user };
  dropped.hint('user');
  return {};
}
