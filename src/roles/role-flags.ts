import { Option } from 'commander';
import { z } from 'zod';
import type { AddCommand } from '../cli/add-command.ts';
import { explained } from '../cli/help.ts';
import { type Command, type Flag, type FlagName, flags, roleExamples } from './flags.ts';

/** Tells the program for people which flags a role has, so that shells complete them. Never parsed there: `config.ts` does. */
export function addRole(role: Command): AddCommand {
  return (program) => {
    const command = program.command(role);
    for (const [name, { commands, value, schema, help, besides }] of Object.entries<Flag>(flags)) {
      if (!commands.includes(role)) continue;
      const option = new Option(
        value === undefined ? `--${name}` : `--${name} <${value}>`,
        besides === undefined ? help : flags[besides as FlagName].help,
      );
      if (schema instanceof z.ZodEnum) option.choices(schema.options.map(String));
      command.addOption(option);
    }
    explained(command, { examples: roleExamples[role] });
  };
}
