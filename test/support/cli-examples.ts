import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { examplesOf } from '../../src/cli/help.ts';
import { openPlace } from '../../src/cli/place.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { systemClock } from '../../src/kube/clock.ts';
import { consoleCommand } from '../../src/roles/console-command.ts';
import { roleCommands } from '../../src/roles/role-commands.ts';

/** The program with every command in it; `print` gets what its help prints. */
export function wholeProgram(print: (text: string) => void = () => {}): Promise<Command> {
  const nowhere = { write: print };
  return buildProgram(
    {
      calledAs: 'model-gateway',
      declarations: (flags) => openPlace(flags, {}),
      out: nowhere,
      err: nowhere,
      stdin: process.stdin,
      isTerminal: { stdin: false, stdout: false, stderr: false },
      signal: AbortSignal.timeout(60_000),
      clock: systemClock,
      env: {},
    },
    [],
    roleCommands,
    true,
    { console: consoleCommand },
  );
}

/** A command and those below it, with the words that call each. */
export function commandsOf(command: Command, path: readonly string[] = []): [string, Command][] {
  return [
    [path.join(' '), command],
    ...command.commands.flatMap((sub) => commandsOf(sub, [...path, sub.name()])),
  ];
}

/** Every example of nodes and models that help and documents show, without the program's name. */
export async function nodeExamples(): Promise<string[]> {
  const all = commandsOf(await wholeProgram()).flatMap(([, command]) => examplesOf(command));
  const documents = ['docs/commands.md', 'docs/routing.md', 'docs/credentials.md'].flatMap((file) =>
    readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
      .split('\n')
      .flatMap((line) => /^(?:model-gateway|kubectl modelgateway) (.*?)(?: +#.*)?$/.exec(line)?.[1] ?? []),
  );
  const ours = /^(nodes?|models?|version|completion|help)\b/;
  return [...new Set([...all, ...documents])].filter((example) => ours.test(example));
}
