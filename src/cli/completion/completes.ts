import type { Command } from 'commander';

/** What an argument names, so that a shell can offer the names there are. `node-model`: models of the node before it. */
export type NameSource = 'node' | 'model' | 'node-model' | 'key' | 'masterkey' | 'file';

const sources = new WeakMap<Command, readonly NameSource[]>();

/** Declares what the arguments of a command name, in order; the last one applies to all further arguments. */
export function completes(command: Command, ...names: readonly NameSource[]): Command {
  sources.set(command, names);
  return command;
}

/** What the argument at an index names; undefined if nothing can be offered. */
export function sourceAt(command: Command, place: number): NameSource | undefined {
  const names = sources.get(command) ?? [];
  const isVariadic = command.registeredArguments.at(-1)?.variadic === true;
  return names[place] ?? (isVariadic ? names.at(-1) : undefined);
}
