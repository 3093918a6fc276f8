// `npm test`: the checks, then every test project, one stage after the other so that timed tests have the machine for
// themselves. `npm run test:unit` and `npm test -- PROJECT…` run the named projects alone, without the checks.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { apiServerTestsLeftOut } from '../test/support/control-plane/binaries.ts';
import { runChecks } from './check.ts';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** What is read of vitest's JSON report. */
interface Report {
  numPassedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
  }[];
}

/** Run only when named: they take packages from registries. */
const onlyNamed = ['delivery', 'telemetry'];
const stages = [['unit'], ['wire'], ['crds', 'cluster'], ['proof'], ['chart'], ['console']];
const apiServerProjects = new Set(['crds', 'cluster', 'proof', 'chart', 'console', 'telemetry']);
const scratch = mkdtempSync(join(tmpdir(), 'model-gateway-test-'));
const total: Counts = { passed: 0, failed: 0, skipped: 0 };
const leftOut: string[] = [];
/** What failed, told again at the very end: the end is what is kept of a long output. */
const failures: string[] = [];
const started = performance.now();

const named = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const unknown = named.filter((name) => ![...stages.flat(), ...onlyNamed].includes(name));
if (unknown.length > 0) {
  console.error(
    `test: unknown project "${unknown.join('", "')}"; use some of ${[...stages.flat(), ...onlyNamed].join(', ')}`,
  );
  process.exit(2);
}

if (named.length === 0) {
  heading('check');
  const { passed, failed } = await runChecks();
  add({ passed, failed, skipped: 0 });
  if (failed > 0) failures.push('check: run `npm run check`');
}
for (const stage of stagesToRun()) {
  const runnable = stage.filter((project) => !(apiServerProjects.has(project) && apiServerTestsLeftOut()));
  leftOut.push(...stage.filter((project) => !runnable.includes(project)));
  if (runnable.length === 0) continue;
  heading(runnable.join(', '));
  add(await runProjects(runnable));
}
rmSync(scratch, { recursive: true, force: true });

console.log(`\nTook ${Math.round((performance.now() - started) / 1000)} s`);
if (leftOut.length > 0) {
  console.log(
    `Left out by MODEL_GATEWAY_TEST_WITHOUT_API_SERVER: the projects ${leftOut.join(' and ')}, which need an API server`,
  );
}
if (failures.length > 0) console.log(`\nFailed:\n${failures.join('\n')}\n`);
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed === 0 ? 0 : 1;

/** Projects of one stage run side by side, for which vitest wants the same number of workers of each. */
function stagesToRun(): string[][] {
  if (named.length === 0) return stages;
  const all = [...stages, ...onlyNamed.map((name) => [name])];
  return all.map((stage) => stage.filter((name) => named.includes(name))).filter(({ length }) => length > 0);
}

function heading(text: string): void {
  console.log(`\n── ${text} ${'─'.repeat(Math.max(0, 70 - text.length))}`);
}

function add(counts: Counts): void {
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
}

async function runProjects(projects: readonly string[]): Promise<Counts> {
  const report = join(scratch, `${projects.join('-')}.json`);
  const code = await new Promise<number>((resolve) => {
    const child = spawn(
      'vitest',
      [
        'run',
        '--passWithNoTests',
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${report}`,
        ...projects.map((p) => `--project=${p}`),
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
    child.on('error', () => resolve(1));
    child.on('close', (status) => resolve(status ?? 1));
  });
  const { passed, skipped, failed } = readReport(report);
  if (code !== 0 && failed.length === 0) {
    // An error outside any test fails the run without a failed test to count.
    failed.push(`ended with ${code} and no failed test; its error is printed above`);
  }
  failures.push(...failed.map((text) => `${projects.join(', ')}: ${text}`));
  return { passed, skipped, failed: failed.length };
}

/** What a report counts, and a paragraph for each test that failed and each file that could not be run. */
function readReport(file: string): { passed: number; skipped: number; failed: string[] } {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
    const failed = report.testResults.flatMap((result) => {
      const path = relative(process.cwd(), result.name);
      const tests = result.assertionResults.filter(({ status }) => status === 'failed');
      if (tests.length === 0 && result.status === 'failed') return [`${path}\n${shortened(result.message)}`];
      return tests.map((test) => `${path} > ${test.fullName}\n${shortened(test.failureMessages.join('\n'))}`);
    });
    return {
      passed: report.numPassedTests,
      skipped: report.numPendingTests + report.numTodoTests,
      failed,
    };
  } catch (error) {
    return { passed: 0, skipped: 0, failed: [`no report of it can be read: ${error}`] };
  }
}

/** The first lines of a message, each cut, indented: enough to know what failed, and where. */
function shortened(message: string): string {
  const lines = message.split('\n').filter((line) => line.trim() !== '');
  return lines
    .slice(0, 12)
    .map((line) => `    ${line.trimEnd().slice(0, 300)}`)
    .join('\n');
}
