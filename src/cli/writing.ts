import type { Command } from 'commander';
import type { WriteOptions } from './edit/declarations.ts';

/** What every command that changes a resource takes. */
export interface WriteFlags {
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

/** Adds `--dry-run` and `--force`. */
export function withWriting(command: Command): Command {
  return command
    .option('--dry-run', 'judge the change and say what it would be; store nothing')
    .option('--force', 'take over fields that another field manager owns');
}

export function writeOptions({ dryRun, force }: WriteFlags): WriteOptions {
  return { dryRun: dryRun === true, force: force === true };
}
