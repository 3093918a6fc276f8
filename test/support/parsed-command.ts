import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Command, CommanderError } from 'commander';
import { readConfig } from '../../src/config.ts';
import { roleCommands } from '../../src/roles/role-commands.ts';
import vitestConfig from '../../vitest.config.ts';
import { wholeProgram } from './cli-examples.ts';
import { words } from './cli-steps.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(`${root}/${path}`, 'utf8');

/**
 * Takes what stands behind `model-gateway` as the program itself would, and does nothing. A mention may leave arguments
 * out. @throws with what the program would say
 */
export async function parseOurs(line: string, isMention: boolean): Promise<void> {
  const [plain = ''] = line.split(/ [<>|&)]|\)$/);
  const args = words(plain);
  const [first] = args;
  if (args.length === 0 || first === 'COMMAND') return;
  const program = await wholeProgram();
  // Without a command it is the quick start, which has no arguments to leave out.
  if (isMention && first?.startsWith('-') !== true) return parseMention(program, args);
  if (first?.startsWith('-') === true || Object.hasOwn(roleCommands, first ?? '')) {
    readConfig(args, {});
    return;
  }
  for (const command of [program, ...below(program)])
    if (command.commands.length === 0) command.action(() => {});
  await program.parseAsync(args, { from: 'user' }).catch((error: unknown) => {
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
  });
}

function below(command: Command): Command[] {
  return command.commands.flatMap((sub) => [sub, ...below(sub)]);
}

function parseMention(program: Command, args: readonly string[]): void {
  let command = program;
  for (const word of args) {
    const sub = command.commands.find((each) => each.name() === word);
    if (sub !== undefined) command = sub;
    else if (command === program && !word.startsWith('-')) throw new Error(`there is no command ${word}`);
    else if (word.startsWith('--') && word !== '--help') {
      const [flag] = word.split('=');
      if (!command.options.some(({ long }) => long === flag)) throw new Error(`there is no flag ${word}`);
    }
  }
}

/** Looks up what `npm` would run: that the script is there, and takes these arguments. @throws saying what is not there */
export async function parseNpm(command: string, isMention: boolean): Promise<void> {
  const [call = '', ...rest] = command.replace(/ &$/, '').split(' -- ');
  const args = words(rest.join(' -- '));
  const [, verb = ''] = words(call.replaceAll(/ --silent| -s\b/g, ''));
  const script = verb === 'run' ? (words(call).filter((word) => !word.startsWith('-'))[2] ?? '') : verb;
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  if (scripts[script] === undefined) throw new Error(`package.json has no script ${script}`);
  const task = scripts[script].replace('node scripts/launch.mjs ', '');
  const entry = new RegExp(`^  '?${task}'?: \\[.*?'([\\w/-]+\\.ts)'`, 'm').exec(
    read('scripts/launch.mjs'),
  )?.[1];
  if (entry === undefined) throw new Error(`scripts/launch.mjs knows no task ${task}`);
  if (script === 'start') return parseOurs(rest.join(' -- '), isMention);
  if (script === 'test') for (const project of args) expectProject(project);
  const folder = dirname(entry);
  const sources =
    folder === 'scripts' ? read(entry) : globSync(`${folder}/*.ts`, { cwd: root }).map(read).join('\n');
  for (const flag of args.filter((arg) => arg.startsWith('--'))) {
    if (!new RegExp(`['"]?\\b${flag.slice(2)}['"]?: ?\\{`).test(sources))
      throw new Error(`${entry} takes no ${flag}`);
  }
}

/** @throws where vitest has no such project */
export function expectProject(name: string): void {
  const projects = vitestConfig.test?.projects ?? [];
  const names = projects.map((project) =>
    typeof project === 'object' && 'test' in project ? project.test?.name : '',
  );
  if (!names.includes(name)) throw new Error(`vitest.config.ts has no project ${name}`);
}
