// What `main.ts` runs once the agents are installed: `node test/agents/tasks.ts AGENTS [WORD...]`, where they are, and words
// in the names of the tasks to run. Needs nothing but loopback, and runs with nothing else where the machine can do that.
import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { startGuard } from '../support/guard.ts';
import { attemptsToLeave, isWalled } from '../support/wall.ts';
import { type AgentTask, must } from './agent-task.ts';
import { aiderTask } from './aider.ts';
import { claudeCodeTask } from './claude-code.ts';
import { clineTask } from './cline.ts';
import { codexCardTask, codexNamespaceTask, codexTask, knownModel, strictCodexTask } from './codex.ts';
import {
  claudeCodePackage,
  clinePackage,
  codexPackage,
  opencodePackage,
  pinnedVersion,
} from './install-agent.ts';
import type { InstalledAgents, Missing } from './installed-agents.ts';
import { opencodeTask } from './opencode.ts';
import { Report } from './report.ts';
import { nodeModel, runTask } from './run-task.ts';

const [installed = '', ...words] = process.argv.slice(2);
const agents = JSON.parse(installed) as InstalledAgents;
const { codex: codexScript, claudeCode: claudeCodeScript } = agents;
const codex = `Codex CLI ${await pinnedVersion(codexPackage)}`;
const claudeCode = `Claude Code ${await pinnedVersion(claudeCodePackage)}`;
const opencode = `opencode ${await pinnedVersion(opencodePackage)}`;
const cline = `Cline ${await pinnedVersion(clinePackage)}`;
const guard = startGuard();
const report = new Report();
/** In the file that an agent reads, so that nobody can know it without having read it. */
const word = (): string => `w${randomBytes(6).toString('hex')}`;

const all = [
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
  ...ifThere(opencode, agents.opencode, (program) => opencodeTask(program, opencode, nodeModel, word())),
  ...ifThere(cline, agents.cline, (program) => clineTask(program, cline, nodeModel, word())),
  ...ifThere('aider', agents.aider, (program) => aiderTask(program, 'aider', nodeModel, word())),
];
const tasks = all.filter(({ name }) => words.every((each) => name.includes(each)));
for (const task of tasks) {
  const before = isWalled() ? attemptsToLeave() : 0;
  try {
    await runTask(task, knownModel, report, guard);
  } catch (error) {
    await report.step(`${task.name}: it runs`, () => Promise.reject(error));
  }
  const name = `${task.name}: nothing but loopback was asked`;
  if (task.asksElsewhere === true) continue;
  if (!isWalled()) report.skip(name, 'needs Linux with unshare, ip and user namespaces');
  else
    await report.step(name, () =>
      must(attemptsToLeave() === before, `${attemptsToLeave() - before} attempts`),
    );
}
guard.release();
console.log(`\n${report.summary()}`);
process.exitCode = report.failed === 0 ? 0 : 1;

/** The task of an agent, or none, and a line that says why. */
function ifThere<Program>(
  name: string,
  program: Program | Missing,
  taskOf: (program: Program) => AgentTask,
): AgentTask[] {
  if (!isMissing(program)) return [taskOf(program)];
  report.skip(name, program.missing);
  return [];
}

function isMissing(program: unknown): program is Missing {
  return typeof program === 'object' && program !== null && 'missing' in program;
}
