import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { errorCode, errorText } from '../../observe/error-text.ts';
import { nativeFormats } from '../../resources/formats.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { usageError } from '../command-error.ts';
import type { Edit } from '../edit/edit.ts';
import { collected } from '../place.ts';

/** The flags that set fields of a node, for `node add` and `node edit`. */
export interface NodeFlags {
  readonly baseUrl?: string;
  readonly authentication?: string;
  readonly displayName?: string;
  readonly priority?: number;
  readonly weight?: number;
  readonly model?: readonly string[];
  readonly modelsFile?: string;
  readonly nativeFormat?: readonly string[];
  readonly newModels?: string;
  readonly discovery?: string;
  readonly includeModels?: readonly string[];
  readonly excludeModels?: readonly string[];
  readonly callers?: string;
}

const authentications = ['Bearer', 'XAPIKey', 'APIKey'] as const;

/** Adds the flags of `NodeFlags`. */
export function withNodeFlags(command: Command): Command {
  return (
    command
      .option('--base-url <url>', 'with its version segment: https://x.example/v1')
      .option('--display-name <text>', 'name for people')
      .addOption(wordOption('--authentication <kind>', 'header of the key:', authentications))
      .option('--priority <n>', '0 to 100, higher is preferred', whole)
      .option('--weight <n>', '1 to 100, share within one priority', whole)
      .option('--model <names>', 'all manual models by comma; or --models-file FILE', collected)
      // The help of another flag names this one, so that the help fits a screen.
      .addOption(new Option('--models-file <file>').hideHelp())
      .option('--native-format <names>', `${nativeFormats.join(', ')}; as --model`, collected)
      .addOption(wordOption('--new-models <state>', 'what new models start as:', ['enabled', 'disabled']))
      .option('--exclude-models <globs>', "leave out such as '*:free'; or --include-models", collected)
      .addOption(new Option('--include-models <globs>').argParser(collected).hideHelp())
      .addOption(wordOption('--discovery <when>', 'ask the node for its models:', ['always', 'never']))
      .option('--callers <namespaces>', 'whose keys may use it: same, all, or their names')
  );
}

/** The edits that the flags ask for, without the key. A flag with the value `-` calls `readStdin`. Throws CommandError. */
export async function nodeEdits(flags: NodeFlags, readStdin: () => Promise<string>): Promise<Edit[]> {
  const edits: Edit[] = [];
  const wish = (value: unknown, ...path: string[]): void => {
    if (value === undefined) return;
    const at = { path: ['spec', ...path] };
    const isEmpty = value === '' || (Array.isArray(value) && value.length === 0);
    edits.push(isEmpty ? { ...at, remove: true } : { ...at, value });
  };
  wish(flags.baseUrl, 'baseURL');
  wish(flags.displayName, 'displayName');
  wish(flags.authentication, 'authentication');
  wish(flags.priority, 'priority');
  wish(flags.weight, 'weight');
  wish(await manualModels(flags, readStdin), 'manualModels');
  wish(flags.nativeFormat && properNames(namesIn(flags.nativeFormat)), 'nativeFormats');
  wish(flags.newModels && capitalized(flags.newModels), 'sync', 'newModels');
  wish(flags.discovery && capitalized(flags.discovery), 'sync', 'discovery');
  wish(flags.includeModels && namesIn(flags.includeModels), 'sync', 'models', 'include');
  wish(flags.excludeModels && namesIn(flags.excludeModels), 'sync', 'models', 'exclude');
  wish(flags.callers && callersOf(flags.callers), 'callerNamespaces');
  return edits;
}

async function manualModels(
  { model, modelsFile }: NodeFlags,
  readStdin: () => Promise<string>,
): Promise<string[] | undefined> {
  if (modelsFile === undefined) return model && namesIn(model);
  const text = modelsFile === '-' ? await readStdin() : await fileText(modelsFile);
  return namesIn([...(model ?? []), text]);
}

/** Names, separated by lines or commas, each once. Blank names and lines that start with `#` are left out. */
function namesIn(texts: readonly string[]): string[] {
  const names = texts
    .flatMap((text) => text.split(/\r?\n/))
    .filter((line) => !line.trimStart().startsWith('#'))
    .flatMap((line) => line.split(','))
    .map((name) => name.trim());
  return [...new Set(names)].filter((name) => name !== '');
}

async function fileText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = errorCode(error) ?? errorText(error);
    throw usageError(`--models-file: ${file} cannot be read (${code}); name a readable file.`);
  }
}

/** The names of formats, given in any case. */
function properNames(names: readonly string[]): string[] {
  return names.map(
    (name) => nativeFormats.find((format) => format.toLowerCase() === name.toLowerCase()) ?? name,
  );
}

function callersOf(text: string): UpstreamNode['spec']['callerNamespaces'] {
  const word = text.toLowerCase();
  if (word === 'same' || word === 'all') return { from: word === 'same' ? 'Same' : 'All' };
  return { from: 'Names', names: namesIn([text]) };
}

/** A flag that takes one of a few words in any case. Its value is the word in the spelling of `words`. */
function wordOption(flags: string, help: string, words: readonly string[]): Option {
  const option = new Option(flags, `${help} ${words.join(', ')}`).argParser((text: string) => {
    const word = words.find((each) => each.toLowerCase() === text.toLowerCase());
    if (word === undefined) throw new InvalidArgumentError(`Allowed choices are ${words.join(', ')}.`);
    return word;
  });
  // Only for completion: the parser above takes any case.
  option.argChoices = [...words];
  return option;
}

function capitalized(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

function whole(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}
