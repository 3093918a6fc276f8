import type { Command } from 'commander';
import type { CommandContext } from './context.ts';

/** Adds one command, or a group of them, to the program. */
export type AddCommand = (program: Command, context: CommandContext) => void;
