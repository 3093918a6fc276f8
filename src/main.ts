import { enableCompileCache } from 'node:module';
import { basename, join } from 'node:path';
import process from 'node:process';
import { ourSpelling } from './cli/spellings.ts';
import { consoleCommand } from './roles/console-command.ts';
import { roleCommands } from './roles/role-commands.ts';
import { keepObjectsYoung } from './runtime/node-internals.ts';

const typed = process.argv.slice(2);
const calledAs = basename(process.argv[1] ?? '').replace(/\.[a-z]+$/, '');
// kubectl runs plugins by these names.
const isPlugin = calledAs === 'kubectl-modelgateway';
const isCompleter = calledAs === 'kubectl_complete-modelgateway';
// Words that kubectl completes may be incomplete.
const args = isCompleter ? typed : ourSpelling(typed);
// kubectl gets no roles that run as a server.
const ofKubectl = isPlugin || isCompleter;
const roles = ofKubectl ? { seal: roleCommands.seal } : roleCommands;
const name = ofKubectl ? 'kubectl modelgateway' : 'model-gateway';

// Commands for people must start quickly, so they load nothing of the roles, and the roles load nothing of them.
if (isCompleter || !isForRole(args)) {
  keepCompiled();
  const { runCommand } = await import('./cli/run.ts');
  await runCommand(isCompleter ? ['__complete', ...args] : args, name, roles, {
    console: consoleCommand,
  });
} else {
  await startRole();
}

/** No command means the quick start, which takes flags. */
function isForRole([first]: readonly string[]): boolean {
  if (first === undefined) return !isPlugin;
  if (first.startsWith('-')) return !isPlugin && !['-h', '--help', '-V', '--version'].includes(first);
  return Object.hasOwn(roles, first);
}

/** Halves the start of a command, from the second call on. The files are in a folder that only this user may write to. */
function keepCompiled(): void {
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env;
  const caches = XDG_CACHE_HOME || (HOME ? join(HOME, '.cache') : LOCALAPPDATA);
  if (caches) enableCompileCache(join(caches, 'model-gateway', 'compiled'));
}

async function startRole(): Promise<void> {
  keepObjectsYoung();
  const { isUsageError, runRole } = await import('./roles/run-role.ts');
  try {
    await runRole(args, name);
  } catch (error) {
    const { explain } = await import('./roles/process.ts');
    process.stderr.write(`${name}: ${explain(error)}\n`);
    process.exit(isUsageError(error) ? 2 : 1);
  }
}
