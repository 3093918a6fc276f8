import { basename } from 'node:path';
import process from 'node:process';
import { roleSummaries } from './role-summaries.ts';

const args = process.argv.slice(2);
const calledAs = basename(process.argv[1] ?? '').replace(/\.[a-z]+$/, '');
// kubectl runs plugins by these names; it knows no roles.
const isPlugin = calledAs === 'kubectl-modelgateway';

// Commands for people must answer at once, so nothing of the roles is loaded for them, nor the other way round.
if (calledAs === 'kubectl_complete-modelgateway') {
  const { runCommand } = await import('./cli/run.ts');
  await runCommand(['__complete', ...args], 'kubectl modelgateway', {});
} else if (isPlugin || !isForRole(args)) {
  const { runCommand } = await import('./cli/run.ts');
  await runCommand(args, isPlugin ? 'kubectl modelgateway' : 'model-gateway', isPlugin ? {} : roleSummaries);
} else {
  await startRole();
}

/** No command means the quick start, which takes flags; `help ROLE` is the role's to answer. */
function isForRole([first, second]: readonly string[]): boolean {
  if (first === undefined) return true;
  if (first === 'help') return second !== undefined && Object.hasOwn(roleSummaries, second);
  if (first.startsWith('-')) return !['-h', '--help', '-V', '--version'].includes(first);
  return Object.hasOwn(roleSummaries, first);
}

async function startRole(): Promise<void> {
  const { isUsageError, runRole } = await import('./roles.ts');
  try {
    await runRole(args);
  } catch (error) {
    const { explain } = await import('./process.ts');
    process.stderr.write(`model-gateway: ${explain(error)}\n`);
    process.exit(isUsageError(error) ? 2 : 1);
  }
}
