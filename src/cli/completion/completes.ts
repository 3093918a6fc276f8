import type { Command } from 'commander';

/** What an argument names, so that a shell can offer the names there are. `node-model`: models of the node before it. */
export type NameSource = 'node' | 'model' | 'node-model' | 'key' | 'masterkey' | 'file';

const sources = new WeakMap<Command, readonly NameSource[]>();

/** Says what the arguments of a command name, in order; the last one holds for all that follow. */
export function completes(command: Command, ...names: readonly NameSource[]): Command {
  sources.set(command, names);
  return command;
}

/** What the argument at a place (from 0) names; undefined where nothing can be offered. */
export function sourceAt(command: Command, place: number): NameSource | undefined {
  const names = sources.get(command) ?? [];
  const isVariadic = command.registeredArguments.at(-1)?.variadic === true;
  return names[place] ?? (isVariadic ? names.at(-1) : undefined);
}
