import { z } from 'zod';
import { errorText } from '../../observe/error-text.ts';
import { CommandError } from '../command-error.ts';
import { exitCodes } from '../exit-codes.ts';
import { oneLine } from '../table.ts';
import { withNearest } from '../with-nearest.ts';
import { keyVariable } from './agent-settings.ts';

const longestMs = 10_000;
/** 10,000 names of the greatest length, with their windows. */
const largestAnswer = 32 * 1024 * 1024;

const listSchema = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      display_name: z.string().optional(),
      context_window: z.number().optional(),
      max_tokens: z.number().optional(),
    }),
  ),
});

/** What the gateway says about a model. */
export interface GatewayModel {
  readonly displayName: string | undefined;
  readonly contextTokens: number | undefined;
  readonly outputTokens: number | undefined;
}

/**
 * Asks the gateway for a model, by the models that the key may use.
 *
 * @throws CommandError if it cannot be reached, refuses the key, or lists no such model
 */
export async function listedModel(
  gatewayURL: string,
  key: string,
  model: string,
  signal: AbortSignal,
): Promise<GatewayModel> {
  const list = await modelList(gatewayURL, key, signal);
  const found = list.find(({ id }) => id === model);
  if (found === undefined) {
    const message = `the gateway at ${gatewayURL} lists no model ${JSON.stringify(model)} for this key`;
    const known = list.map(({ id }) => id);
    const otherwise =
      known.length === 0
        ? 'it lists none at all: see the allowlist of the key'
        : `it lists ${shortList(known)}`;
    throw new CommandError(exitCodes.notFound, oneLine(withNearest(message, model, known, otherwise)));
  }
  return {
    displayName: found.display_name,
    contextTokens: found.context_window,
    outputTokens: found.max_tokens,
  };
}

type ModelList = z.output<typeof listSchema>['data'];

async function modelList(gatewayURL: string, key: string, signal: AbortSignal): Promise<ModelList> {
  const unavailable = (reason: string): CommandError =>
    new CommandError(
      exitCodes.unavailable,
      `${gatewayURL}/models could not be read: ${reason}. If this is not the gateway, name it with --gateway-url.`,
    );
  try {
    const answer = await fetch(`${gatewayURL}/models`, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(longestMs)]),
      redirect: 'error',
    });
    if (answer.status === 401 || answer.status === 403) {
      await answer.body?.cancel();
      throw new CommandError(
        exitCodes.forbidden,
        `the gateway at ${gatewayURL} refuses the key (${answer.status}): put a key of callers (mgk_…) that is in force into ${keyVariable}.`,
      );
    }
    const text = await boundedText(answer);
    if (!answer.ok) throw unavailable(`it answered ${answer.status}`);
    const list = listSchema.safeParse(JSON.parse(text));
    if (!list.success) throw unavailable('this is no list of models');
    return list.data.data;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CommandError) throw error;
    throw unavailable(reasonOf(error));
  }
}

async function boundedText(answer: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of answer.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > largestAnswer) throw new Error('the answer is too long');
  }
  return text + decoder.decode();
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return errorText(error);
  if (error.name === 'TimeoutError') return `no answer in ${longestMs / 1_000} s`;
  if (error instanceof SyntaxError) return 'this is no JSON';
  // The error of fetch says only that it failed; its cause says why.
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}

function shortList(names: readonly string[]): string {
  const more = names.length - 5;
  return `${names.slice(0, 5).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
