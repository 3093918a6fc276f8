import { InvalidArgumentError, Option, type Command as Program } from 'commander';
import { z } from 'zod';
import { explained } from '../cli/help.ts';
import { type Command, type Flag, flags, presetOf, roleExamples } from './flags.ts';
import { roleSummaries } from './role-summaries.ts';

/**
 * Adds a role with its flags to a program. Values stay as they were typed: `config.ts` reads them. `repeats` is called for a
 * flag that is given again, although only its last value counts.
 */
export function addRole(
  role: Command,
  repeats: (flag: string) => void = () => {},
): (program: Program) => void {
  return (program) => {
    const summary = roleSummaries[role];
    const command = program
      .command(role)
      .description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`)
      .action(() => {});
    for (const [name, flag] of Object.entries<Flag>(flags)) {
      if (flag.commands.includes(role)) command.addOption(optionOf(name, flag, role, repeats));
    }
    explained(command, {
      notes: ['Flags, each also a variable: --home-namespace is MODEL_GATEWAY_HOME_NAMESPACE:'],
      examples: roleExamples[role],
    });
  };
}

function optionOf(name: string, flag: Flag, role: Command, repeats: (flag: string) => void): Option {
  const { value, schema, help, hidden = false, repeatable = false } = flag;
  const option = new Option(value === undefined ? `--${name}` : `--${name} <${value}>`, help);
  option.default(option.defaultValue, presetOf(flag, role)).hideHelp(hidden);
  if (schema instanceof z.ZodEnum) option.choices(schema.options.map(String));
  if (value === undefined) return option;
  let isGiven = false;
  return option.argParser((text: string, before: unknown) => {
    if (isGiven && !repeatable) repeats(`--${name}`);
    isGiven = true;
    if (text.startsWith('--')) throw new InvalidArgumentError('Give the flag a value before the next one.');
    return repeatable ? [...(Array.isArray(before) ? before : []), text] : text;
  });
}
