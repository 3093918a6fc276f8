import type { Command } from 'commander';
import { productVersion } from '../observe/version.ts';
import type { AddCommand } from './add-command.ts';
import type { CommandContext } from './context.ts';
import { explained, helpTopics } from './help.ts';
import { inheritSettings, newProgram } from './new-program.ts';

/** A command as the program's help lists it. */
export interface Entry {
  readonly summary: string;
  /** Loads the command. Only the called command is loaded, so that each starts quickly. */
  readonly load: () => Promise<AddCommand>;
}

/** Every command for people. */
const entries: Readonly<Record<string, Entry>> = {
  nodes: {
    summary: 'list the nodes: URL, status, models, last sync',
    load: async () => (await import('./node/list.ts')).addNodes,
  },
  node: {
    summary: 'show, add, edit, enable, disable, delete, sync a node',
    load: async () => (await import('./node/node.ts')).addNode,
  },
  models: {
    summary: 'list the models: who serves each, in which order',
    load: async () => (await import('./model/list.ts')).addModels,
  },
  model: {
    summary: 'show a model; enable and disable models of a node',
    load: async () => (await import('./model/model.ts')).addModel,
  },
  keys: {
    summary: 'list the keys of callers',
    load: async () => (await import('./key/list.ts')).addKeys,
  },
  key: {
    summary: 'create, show, edit, rotate, enable, revoke a key',
    load: async () => (await import('./key/key.ts')).addKey,
  },
  masterkeys: {
    summary: 'list the master keys, which open /v1/keys',
    load: async () => (await import('./key/list.ts')).addMasterKeys,
  },
  masterkey: {
    summary: 'the same as key, for master keys',
    load: async () => (await import('./key/key.ts')).addMasterKey,
  },
  route: {
    summary: 'explain where requests for a model go, and why',
    load: async () => (await import('./route/explain.ts')).addRoute,
  },
  check: {
    summary: 'check a folder of manifests before it is pushed',
    load: async () => (await import('./check/command.ts')).addCheck,
  },
  agent: {
    summary: 'settings for Codex, Claude Code, opencode, aider, Cline',
    load: async () => (await import('./agent/command.ts')).addAgent,
  },
  completion: {
    summary: 'let your shell complete commands, flags and names',
    load: async () => (await import('./completion/completion.ts')).addCompletion,
  },
  version: {
    summary: 'the version of this program and of what runs in the cluster',
    load: async () => (await import('./version.ts')).addVersion,
  },
};

/**
 * The program as far as these arguments need it: the command that they name is loaded, of the others there are only
 * summaries. `all` loads every command, for tests.
 *
 * @param roles the commands that `main.ts` runs itself, listed first
 * @param more commands of folders that may import this one, listed last
 */
export async function buildProgram(
  context: CommandContext,
  args: readonly string[],
  roles: Readonly<Record<string, Entry>>,
  all = false,
  more: Readonly<Record<string, Entry>> = {},
): Promise<Command> {
  const program = newProgram(context.calledAs)
    .version(`${context.calledAs} ${productVersion()}`, '-V, --version', 'the version of this program')
    .configureOutput({
      writeOut: (text) => void context.out.write(text),
      writeErr: (text) => void context.err.write(text),
    });
  explained(program, { examples: ['nodes --all-namespaces', 'help exit-codes'] });
  const named = args.find((arg) => !arg.startsWith('-'));
  const wanted = named === 'help' ? args[args.indexOf('help') + 1] : named;
  for (const [name, { summary, load }] of Object.entries({ ...roles, ...entries, ...more })) {
    if (all || name === wanted) {
      const add = await load();
      add(program, context);
      program.commands.find((command) => command.name() === name)?.summary(summary);
    } else {
      program.command(name).summary(summary);
    }
  }
  addHelp(program, context);
  inheritSettings(program);
  return program;
}

function addHelp(program: Command, context: CommandContext): void {
  program
    .command('help', { hidden: true })
    .description('What a command does; or one of the topics flags and exit-codes.')
    .argument('[words...]', 'a command, or flags or exit-codes')
    .action((words: readonly string[]) => {
      const [word = ''] = words;
      const topic = Object.hasOwn(helpTopics, word) ? helpTopics[word] : undefined;
      if (topic !== undefined) {
        context.out.write(topic(context.calledAs));
        return;
      }
      let found = program;
      for (const word of words) {
        const sub = found.commands.find((command) => command.name() === word);
        if (sub === undefined)
          program.error(`unknown command '${words.join(' ')}'`, { code: 'commander.unknownCommand' });
        else found = sub;
      }
      found.outputHelp();
    });
}
