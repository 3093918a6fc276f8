// `npm run fuzz`: cases that nobody would write, against a running gateway and against every parser; README.md says more.
import process from 'node:process';
import { parseArgs } from 'node:util';
import { runTargets, targetNames } from './targets.ts';

const usage = `npm run fuzz -- [--runs N] [--seed N] [--only TARGET]…
  --runs N       cases of each target (default 100000)
  --seed N       repeats a run (default: the time)
  --only TARGET  ${targetNames.join(', ')}`;

process.exitCode = await run();

async function run(): Promise<number> {
  let values: { runs: string; seed: string; only: string[] };
  try {
    ({ values } = parseArgs({
      options: {
        runs: { type: 'string', default: '100000' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        only: { type: 'string', multiple: true, default: [] },
      },
    }));
    const unknown = values.only.filter((name) => !targetNames.includes(name));
    if (unknown.length > 0) throw new Error(`--only ${unknown.join(', ')}: no such target`);
    if (!(Number(values.runs) > 0)) throw new Error(`--runs ${values.runs}: must be a number above 0`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
    return 2;
  }
  const [runs, seed] = [Number(values.runs), Number(values.seed)];
  process.stdout.write(`seed ${seed}, ${runs} cases of each target\n`);
  const tell = (line: string) => void process.stderr.write(`${new Date().toISOString()} ${line}\n`);
  let found = 0;
  const slowness = { blocks: 5, windowMs: 4_000, most: 2 };
  const options = { runs, seed, slowness, patient: Math.ceil(runs / 500), limitMs: 3_600_000, tell };

  for await (const report of runTargets(options, values.only)) {
    process.stdout.write(`${report.target}: ${report.runs} cases, ${report.findings.length} findings\n`);
    if (Object.keys(report.figures).length > 0) {
      process.stdout.write(`  ${JSON.stringify(report.figures)}\n`);
    }
    for (const { case: smallest, reason } of report.findings.slice(0, 10)) {
      process.stdout.write(`FOUND ${reason}\n  ${smallest}\n`);
    }
    found += report.findings.length;
  }
  return found === 0 ? 0 : 1;
}
