import { type Command, Option } from 'commander';
import type { WriteOptions } from './edit/declarations.ts';

/** What every command that changes a resource takes. */
export interface WriteFlags {
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

/** The flags of `WriteFlags`, with what `help flags` says of them. */
export const writeFlags: readonly (readonly [flags: string, help: string])[] = [
  ['--dry-run', 'say what would change; store nothing'],
  ['--force', 'take over fields that another field manager owns'],
];

/** Adds `writeFlags` to a command. Like `placeFlags`, they are in `help flags`, not in `--help` of the command. */
export function withWriting(command: Command): Command {
  for (const [flags, help] of writeFlags) command.addOption(new Option(flags, help).hideHelp());
  return command;
}

export function writeOptions({ dryRun, force }: WriteFlags): WriteOptions {
  return { dryRun: dryRun === true, force: force === true };
}
