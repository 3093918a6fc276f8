// `npm run check`: what must be true of the source before any test runs. Each check is one command.
import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';

const checks = [
  { name: 'types', command: 'tsc', args: ['-p', '.'] },
  { name: 'types of the page', command: 'tsc', args: ['-p', 'src/console/page'] },
  { name: 'style, imports, lint', command: 'biome', args: ['ci', '--colors=off', '--log-level=warn', '.'] },
  { name: 'reading by type', command: 'node', args: ['scripts/typed-reading.ts'] },
  { name: 'plain words', command: 'node', args: ['scripts/words.ts'] },
  { name: 'unused code', command: 'knip', args: [] },
  { name: 'generated files', command: 'node', args: ['scripts/generate.ts', '--check'] },
];

/** Checks at one time: most of each is one thread's work. */
const atOnce = 2;

/** Runs every check, printing one line for each and the output of those that failed. Never throws. */
export async function runChecks(): Promise<{ passed: number; failed: number }> {
  let failed = 0;
  const waiting = [...checks];
  const runNext = async (): Promise<void> => {
    const check = waiting.shift();
    if (check === undefined) return;
    const started = performance.now();
    const { code, output } = await run(check.command, check.args);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${check.name} (${seconds} s)`);
    if (code !== 0) {
      failed += 1;
      console.log(`${output.trimEnd()}\n  run alone: npx ${[check.command, ...check.args].join(' ')}`);
    }
    await runNext();
  };
  await Promise.all(Array.from({ length: atOnce }, runNext));
  return { passed: checks.length - failed, failed };
}

function run(command: string, args: readonly string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const collect = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-60_000);
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', (error) => resolve({ code: 1, output: `${output}${error.message}` }));
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { failed } = await runChecks();
  process.exitCode = failed === 0 ? 0 : 1;
}
