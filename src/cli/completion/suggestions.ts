import type { Command, Option } from 'commander';
import type { CommandContext } from '../context.ts';
import { helpTopics } from '../help.ts';
import type { PlaceFlags } from '../place.ts';
import { type NameSource, sourceAt } from './completes.ts';
import { namesOf } from './names.ts';
import type { Suggestion } from './suggestion.ts';

export interface Suggestions {
  readonly found: readonly Suggestion[];
  /** Whether the word may be a file, so that the shell offers its own. */
  readonly files: boolean;
}

const none: Suggestions = { found: [], files: false };
const files: Suggestions = { found: [], files: true };
/** Matches flags whose value is a file or a folder. */
const isFile = /<(?:file|dir)>$/i;

/** The completions of the last of these words. In `program`, the command of these words is loaded. */
export async function suggestions(
  program: Command,
  words: readonly string[],
  context: CommandContext,
): Promise<Suggestions> {
  const begun = words.at(-1) ?? '';
  const { command, values, flags, awaiting } = walked(program, words.slice(0, -1));
  const [flagName = '', inline] = split(begun);
  if (awaiting !== undefined) return ofFlag(awaiting, begun, flags, context);
  if (begun.startsWith('-')) {
    const option = command.options.find(({ long }) => long === flagName);
    if (inline === undefined || option === undefined) return matching(flagSuggestions(command), begun);
    const { found, files: orFiles } = await ofFlag(option, inline, flags, context);
    return {
      found: found.map(({ value, help }) => ({ value: `${flagName}=${value}`, help })),
      files: orFiles,
    };
  }
  if (command.commands.length > 0) return matching(commandSuggestions(command), begun);
  if (command.name() === 'help' && values.length === 0) {
    return matching([...commandSuggestions(program), ...Object.keys(helpTopics).map(bare)], begun);
  }
  const choices = command.registeredArguments[values.length]?.argChoices;
  if (choices !== undefined) return matching(choices.map(bare), begun);
  const source = sourceAt(command, values.length);
  if (source === 'file') return files;
  return source === undefined ? none : matching(await named(source, values, flags, context), begun);
}

interface Walked {
  readonly command: Command;
  /** Arguments so far. */
  readonly values: readonly string[];
  /** Flags so far, by commander's name of each. */
  readonly flags: PlaceFlags;
  /** The flag whose value comes next. */
  readonly awaiting: Option | undefined;
}

function walked(program: Command, words: readonly string[]): Walked {
  let command = program;
  let awaiting: Option | undefined;
  const values: string[] = [];
  const flags: Record<string, unknown> = {};
  for (const word of words) {
    if (awaiting !== undefined) {
      flags[awaiting.attributeName()] = word;
      awaiting = undefined;
      continue;
    }
    if (word.startsWith('-')) {
      const [name, value] = split(word);
      const option = command.options.find(({ long, short }) => long === name || short === name);
      if (option === undefined) continue;
      if (value !== undefined) flags[option.attributeName()] = value;
      else if (option.required) awaiting = option;
      else flags[option.attributeName()] = true;
      continue;
    }
    const sub = command.commands.find((each) => each.name() === word);
    if (sub === undefined) values.push(word);
    else command = sub;
  }
  return { command, values, flags: flags as PlaceFlags, awaiting };
}

function split(word: string): [string, string | undefined] {
  const equals = word.startsWith('--') ? word.indexOf('=') : -1;
  return equals === -1 ? [word, undefined] : [word.slice(0, equals), word.slice(equals + 1)];
}

async function ofFlag(
  option: Option,
  begun: string,
  flags: PlaceFlags,
  context: CommandContext,
): Promise<Suggestions> {
  if (isFile.test(option.flags)) return files;
  if (option.argChoices !== undefined) return matching(option.argChoices.map(bare), begun);
  if (option.long === '--key') return matching(await named('key', [], flags, context), begun);
  if (option.long === '--namespace') {
    const place = await context.declarations(flags);
    const nodes = await place.list('UpstreamNode', undefined, context.signal);
    return matching([...new Set(nodes.map(({ resource }) => resource.metadata.namespace))].map(bare), begun);
  }
  return none;
}

async function named(
  source: NameSource,
  values: readonly string[],
  flags: PlaceFlags,
  context: CommandContext,
): Promise<Suggestion[]> {
  const place = await context.declarations(flags);
  const found = await namesOf(source, values, place, context.signal);
  return found.filter(({ value }) => source === 'node-model' || !values.includes(value));
}

function commandSuggestions(command: Command): Suggestion[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((sub) => ({ value: sub.name(), help: sub.summary() || sub.description() }));
}

function flagSuggestions(command: Command): Suggestion[] {
  // Flags that `--help` leaves out are offered too. `--api-key` is not, because it exists only to be refused.
  return command.options
    .filter(({ long }) => long !== undefined && long !== '--api-key')
    .map(({ long, description }) => ({ value: long ?? '', help: description }));
}

function matching(all: readonly Suggestion[], begun: string): Suggestions {
  return { found: all.filter(({ value }) => value.startsWith(begun)), files: false };
}

function bare(value: string): Suggestion {
  return { value, help: '' };
}
