import { InvalidArgumentError } from 'commander';
import type { ModelCard } from '../../resources/model-card.ts';
import type { AddCommand } from '../add-command.ts';
import { CommandError, usageError } from '../command-error.ts';
import { completes } from '../completion/completes.ts';
import type { CommandContext } from '../context.ts';
import type { Edit } from '../edit/edit.ts';
import { printEdit } from '../edit-outcome.ts';
import { editResource } from '../edit-resource.ts';
import { exitCodes } from '../exit-codes.ts';
import { explained } from '../help.ts';
import { namedRef, nodeWords } from '../named.ts';
import { type PlaceFlags, withPlace } from '../place.ts';
import { type WriteFlags, withWriting } from '../writing.ts';
import { pickModels } from './pick-models.ts';

interface Flags extends PlaceFlags, WriteFlags {
  readonly displayName?: string;
  readonly contextTokens?: number | '';
  readonly outputTokens?: number | '';
  readonly input?: readonly string[];
  readonly tools?: boolean | '';
  readonly inputPrice?: string;
  readonly cachedInputPrice?: string;
  readonly outputPrice?: string;
}

/** `model edit` */
export const addModelEdit: AddCommand = (group, context) => {
  const command = group
    .command('edit')
    .summary("change a model's card: windows, inputs, prices")
    .description('Changes the card that callers read. An empty value removes a wish.')
    .argument('<node>', 'name of the node')
    .argument('<model>', 'name of the model there')
    .option('--display-name <text>', 'name for people')
    .option('--context-tokens <n>', 'window: prompt and answer together', tokens)
    .option('--output-tokens <n>', 'the longest answer', tokens)
    .option('--input <kinds>', 'Text, Image, Audio, File, by commas', kinds)
    .option('--tools <yes|no>', 'whether it calls tools', yesOrNo)
    .option('--input-price <n>', 'for a million tokens: 2.50')
    .option('--cached-input-price <n>', 'the same, from the cache')
    .option('--output-price <n>', 'the same, of answers')
    .action((node: string, model: string, flags: Flags) => editCard(context, node, model, flags));
  completes(command, 'node', 'node-model');
  withPlace(withWriting(command));
  explained(command, {
    examples: [
      'model edit openai gpt-5 --context-tokens 400000',
      "model edit openai gpt-5 --output-price 10 --tools ''",
    ],
  });
};

async function editCard(context: CommandContext, node: string, word: string, flags: Flags): Promise<void> {
  const place = await context.declarations(flags);
  const before = await place.get(namedRef(place, nodeWords, node), context.signal);
  const { models, problems } = pickModels(before.resource, [word]);
  const [model] = models;
  if (model === undefined || models.length > 1) {
    const reason = problems[0] ?? `${JSON.stringify(word)} fits several models; a card is for one.`;
    throw new CommandError(exitCodes.notFound, `${node}: ${reason}`);
  }
  const card = before.resource.spec.models?.find(({ name }) => name === model.name)?.card;
  const edits = cardEdits(model.name, flags, card);
  if (edits.length === 0) throw usageError('nothing to change: give flags (model edit --help).');
  printEdit(context, flags, await editResource(context, place, before, edits, flags));
}

function cardEdits(name: string, flags: Flags, card: ModelCard | undefined): Edit[] {
  const wishes: (readonly [unknown, ...string[]])[] = [
    [flags.displayName, 'displayName'],
    [flags.contextTokens, 'contextTokens'],
    [flags.outputTokens, 'outputTokens'],
    [flags.input, 'input'],
    [flags.tools, 'tools'],
    [flags.inputPrice, 'price', 'inputPerMillion'],
    [flags.cachedInputPrice, 'price', 'cachedInputPerMillion'],
    [flags.outputPrice, 'price', 'outputPerMillion'],
  ];
  return wishes.flatMap(([value, ...path]): Edit[] => {
    if (value === undefined) return [];
    const at = { path: ['spec', 'models', { name }, 'card', ...path] };
    const isEmpty = value === '' || (Array.isArray(value) && value.length === 0);
    if (!isEmpty) return [{ ...at, value }];
    // There may be no entry to remove it from.
    return valueIn(card, path) === undefined ? [] : [{ ...at, remove: true }];
  });
}

function valueIn(card: ModelCard | undefined, [member = '', inner]: readonly string[]): unknown {
  const entries = new Map<string, unknown>(Object.entries(card ?? {}));
  if (inner === undefined) return entries.get(member);
  return new Map<string, unknown>(Object.entries(card?.price ?? {})).get(inner);
}

function tokens(text: string): number | '' {
  if (text === '') return text;
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}

function kinds(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '')
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
}

function yesOrNo(text: string): boolean | '' {
  if (text === '') return text;
  if (!/^(?:yes|no|true|false)$/i.test(text)) throw new InvalidArgumentError('Give yes or no.');
  return /^(?:yes|true)$/i.test(text);
}
