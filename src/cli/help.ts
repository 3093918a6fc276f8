import type { Command, Help } from 'commander';
import { exitCodeMeanings, exitCodes } from './exit-codes.ts';
import { placeFlags } from './place-flags.ts';
import { selectorFlag } from './selector.ts';
import { writeFlags } from './writing.ts';

/** What `--help` prints of a command besides its flags. */
interface Explanation {
  /** Lines below the description. */
  readonly notes?: readonly string[];
  /** What a person types after the program's name. A test runs each example. */
  readonly examples: readonly [string, ...string[]];
}

const explanations = new WeakMap<Command, Explanation>();

/** Gives a command its notes and its examples. */
export function explained(command: Command, notes: Explanation): Command {
  explanations.set(command, notes);
  return command;
}

/** The examples that `--help` of a command shows, without the program's name. */
export function examplesOf(command: Command): readonly string[] {
  return explanations.get(command)?.examples ?? [];
}

/** `--help` of a command, on one screen of 80 columns and 24 lines. */
export function formatHelp(command: Command, helper: Help): string {
  const notes = explanations.get(command);
  const rows = [...subcommandRows(command, helper), ...optionRows(command, helper)];
  // `help flags` has those that many commands take.
  const leavesOut = (long: string): boolean =>
    command.options.some((option) => option.long === long && option.hidden);
  const more = leavesOut('--force') ? '--dry-run, -n, --context ...' : '-n, --context, --manifests ...';
  const examples = notes?.examples ?? [];
  return [
    `Usage: ${usage(command, helper)}`,
    ...(command.description() === '' ? [] : [command.description()]),
    ...(notes?.notes ?? []),
    // The help of the program itself, and that of the roles, fills a screen without blank lines.
    ...(rows.length === 0 || command.description() === '' || notes?.notes?.at(-1)?.endsWith(':') === true
      ? []
      : ['']),
    ...(rows.length === 0 ? [] : columns(rows)),
    ...(leavesOut('--manifests') ? [`More flags (${more}): ${root(command)} help flags`] : []),
    ...(examples.length === 0
      ? []
      : [
          ...(command.parent === null ? [] : ['']),
          'Examples:',
          ...examples.map((line) => `  ${root(command)} ${line}`),
        ]),
    '',
  ]
    .filter((line, index, all) => line !== '' || all[index - 1] !== '')
    .join('\n');
}

/** The pages of `help TOPIC`. */
export const helpTopics: Readonly<Record<string, (calledAs: string) => string>> = {
  flags: () =>
    [
      'Flags of every command that reads a cluster or a folder:',
      '',
      ...columns([...placeFlags, selectorFlag]),
      '',
      'Flags of every command that changes something:',
      '',
      ...columns([
        ...writeFlags,
        ['--home-namespace NS', "the controller's namespace, where a key is sealed"],
      ]),
      '',
      'Variables for a folder: MODEL_GATEWAY_MANIFESTS, _DATA and _HOME_NAMESPACE.',
      'Tables are coloured only on a terminal; NO_COLOR=1 switches that off.',
      '',
    ].join('\n'),
  'exit-codes': () =>
    [
      'Exit codes of every command:',
      '',
      ...columns(
        (Object.keys(exitCodes) as (keyof typeof exitCodes)[]).map((name) => [
          String(exitCodes[name]),
          exitCodeMeanings[name],
        ]),
      ),
      '',
    ].join('\n'),
};

/** As people write it: `model-gateway node sync NAME... [FLAGS]`. */
function usage(command: Command, helper: Help): string {
  const words = command.registeredArguments.map((argument) => {
    const name = `${argument.name().toUpperCase()}${argument.variadic ? '...' : ''}`;
    return argument.required ? name : `[${name}]`;
  });
  const isGroup = helper.visibleCommands(command).length > 0;
  return [path(command), ...(isGroup ? ['COMMAND'] : words), '[FLAGS]'].join(' ');
}

function path(command: Command): string {
  return command.parent === null ? command.name() : `${path(command.parent)} ${command.name()}`;
}

function root(command: Command): string {
  let top = command;
  while (top.parent !== null) top = top.parent;
  return top.name();
}

function subcommandRows(command: Command, helper: Help): (readonly [string, string])[] {
  return helper
    .visibleCommands(command)
    .map((sub) => [sub.name(), sub.summary() || sub.description()] as const);
}

function optionRows(command: Command, helper: Help): (readonly [string, string])[] {
  const options = helper
    .visibleOptions(command)
    .filter(({ long }) => long !== '--help' && long !== '--version');
  const indent = options.some(({ short }) => short !== undefined) ? '    ' : '';
  return options.map(({ flags, short, description, defaultValue, defaultValueDescription }) => {
    const left = flags.replaceAll(/<([^<>]+)>/g, (_, value: string) => value.toUpperCase());
    const preset = defaultValueDescription ?? (typeof defaultValue === 'boolean' ? undefined : defaultValue);
    return [
      short === undefined ? `${indent}${left}` : left,
      preset === undefined ? description : `${description} (${shown(preset)})`,
    ] as const;
  });
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
