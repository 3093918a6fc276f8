import { Command } from 'commander';
import { formatHelp } from './help.ts';

/** A program without commands, with our help. It throws CommanderError and prints none: `usageMessage` does that. */
export function newProgram(calledAs: string): Command {
  return new Command(calledAs)
    .helpCommand(false)
    .configureHelp({ formatHelp })
    .configureOutput({ outputError: () => {} })
    .exitOverride();
}

/** Gives all commands the settings of the program: commander gives them only to commands that are made after them. */
export function inheritSettings(command: Command): void {
  for (const sub of command.commands) {
    sub.copyInheritedSettings(command);
    sub.helpCommand(false);
    inheritSettings(sub);
  }
}
