// `npm run soak`: mixed load for a long time, and what it leaves behind; README.md explains the table.
import { mkdirSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { table } from '../bench/table.ts';
import { describeMachine, machineLine } from '../support/machine.ts';
import { standaloneGround } from './ground.ts';
import { liveLine } from './live-line.ts';
import { soakOptions, usage } from './options.ts';
import { soak } from './soak.ts';
import { judge } from './verdict.ts';

process.exitCode = await run();

async function run(): Promise<number> {
  let options: ReturnType<typeof soakOptions>;
  try {
    options = soakOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
    return 2;
  }
  const machine = describeMachine();
  await using ground = await standaloneGround();
  const record = await soak(ground, options, liveLine(process.stderr));
  const verdicts = judge(record, options);
  const directory = new URL('./results/', import.meta.url);
  mkdirSync(directory, { recursive: true });
  const samples = record.samples.map(({ stalls: _, ...sample }) => sample);
  const report = { machine, options, verdicts, ...record, samples };
  writeFileSync(new URL('latest.json', directory), `${JSON.stringify(report, null, 1)}\n`);
  for (const failure of [...record.load.failures, ...record.reloads.failures].slice(0, 20)) {
    process.stdout.write(`wrong: ${failure}\n`);
  }
  for (const error of record.errors.slice(0, 10)) process.stdout.write(`logged: ${error}\n`);
  process.stdout.write(
    `${table(verdicts.map((verdict) => ({ ...verdict, row: '', note: '', figures: {} })))}\n\n`,
  );
  process.stdout.write(`${machineLine(machine)}; ${options.seconds} s of load\n`);
  const short = verdicts.filter(({ ok }) => !ok).length;
  process.stdout.write(
    `${verdicts.length - short} met, ${short} short; all in test/soak/results/latest.json\n`,
  );
  return short === 0 ? 0 : 1;
}
