// What `main.ts` runs once the agents are installed: `node test/agents/tasks.ts CODEX CLAUDE_CODE`, the paths of their
// scripts. Needs nothing but loopback, and runs with nothing else where the machine can do that.
import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { startGuard } from '../support/guard.ts';
import { attemptsToLeave, isWalled } from '../support/wall.ts';
import { must } from './agent-task.ts';
import { claudeCodeTask } from './claude-code.ts';
import { codexCardTask, codexNamespaceTask, codexTask, knownModel, strictCodexTask } from './codex.ts';
import { claudeCodePackage, codexPackage, pinnedVersion } from './install-agent.ts';
import { Report } from './report.ts';
import { nodeModel, runTask } from './run-task.ts';

const [codexScript = '', claudeCodeScript = ''] = process.argv.slice(2);
const codex = `Codex CLI ${await pinnedVersion(codexPackage)}`;
const claudeCode = `Claude Code ${await pinnedVersion(claudeCodePackage)}`;
const guard = startGuard();
const report = new Report();
/** In the file that an agent reads, so that nobody can know it without having read it. */
const word = (): string => `w${randomBytes(6).toString('hex')}`;

const tasks = [
  codexTask(codexScript, `${codex}, ${knownModel}`, word()),
  codexNamespaceTask(codexScript, `${codex}, ${nodeModel}`, nodeModel, word()),
  codexCardTask(codexScript, `${codex}, ${nodeModel} with a card`, nodeModel, word()),
  claudeCodeTask(claudeCodeScript, claudeCode, nodeModel, word()),
  strictCodexTask(codexTask(codexScript, `${codex}, ${knownModel}`, word())),
  strictCodexTask(codexNamespaceTask(codexScript, `${codex}, ${nodeModel}`, nodeModel, word())),
  {
    ...claudeCodeTask(claudeCodeScript, `${claudeCode}, Strict`, nodeModel, word()),
    conversion: 'Strict' as const,
  },
];
for (const task of tasks) {
  const before = isWalled() ? attemptsToLeave() : 0;
  try {
    await runTask(task, knownModel, report, guard);
  } catch (error) {
    await report.step(`${task.name}: it runs`, () => Promise.reject(error));
  }
  const name = `${task.name}: nothing but loopback was asked`;
  if (!isWalled()) report.skip(name, 'needs Linux with unshare, ip and user namespaces');
  else
    await report.step(name, () =>
      must(attemptsToLeave() === before, `${attemptsToLeave() - before} attempts`),
    );
}
guard.release();
console.log(`\n${report.summary()}`);
process.exitCode = report.failed === 0 ? 0 : 1;
