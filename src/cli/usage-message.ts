import type { CommanderError } from 'commander';

/** What commander refuses, on one line, with the command whose help says more. */
export function usageMessage(error: CommanderError, command: string): string {
  const said = error.message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replace(/\.$/, '');
  return `${refusedChoice(said) ?? said}. See ${command} --help.`;
}

/** Commander's refusal of an argument that has choices, in our words; undefined for any other message. */
function refusedChoice(said: string): string | undefined {
  const [value, rest] = said.split("' is invalid for argument '");
  const [name, choices] = rest?.split("'. Allowed choices are ") ?? [];
  if (value === undefined || name === undefined || choices === undefined) return undefined;
  return `${name} must be one of ${choices}, not ${value.slice("command-argument value '".length)}`;
}
