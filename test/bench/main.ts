// `npm run bench`: measures the gateway side by side with the bare proxy and prints a table; README.md explains the rows.
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import process from 'node:process';
import { canPin, pinGenerator } from './affinity.ts';
import { startLab } from './lab.ts';
import { benchOptions, usage } from './options.ts';
import type { Result, Row } from './result.ts';
import { bigSet } from './rows/big-set.ts';
import { changes } from './rows/changes.ts';
import { converted } from './rows/converted.ts';
import { convertedFirst } from './rows/converted-first.ts';
import { convertedLength } from './rows/converted-length.ts';
import { convertedMemory } from './rows/converted-memory.ts';
import { convertedStreams } from './rows/converted-streams.ts';
import { idleStreams } from './rows/idle-streams.ts';
import { latency } from './rows/latency.ts';
import { streaming } from './rows/streaming.ts';
import { throughput } from './rows/throughput.ts';
import { table } from './table.ts';

// The big set comes last, so that its process does not share the core with rows that do not need it.
const rows: readonly Row[] = [
  ...[throughput, streaming, latency, idleStreams],
  ...[converted, convertedStreams, convertedLength, convertedMemory, convertedFirst],
  ...[bigSet, changes],
];

/** Rows that would take the short run beyond three minutes. */
const longOnly: readonly Row[] = [convertedLength, convertedMemory];

process.exitCode = await bench();

async function bench(): Promise<number> {
  let options: ReturnType<typeof benchOptions>;
  try {
    options = benchOptions(process.argv.slice(2));
    const unknown = options.only.filter((name) => !rows.some((row) => row.name === name));
    if (unknown.length > 0) {
      throw new Error(
        `--only ${unknown.join(', ')}: no such row; use ${rows.map(({ name }) => name).join(', ')}`,
      );
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
    return 2;
  }
  const started = performance.now();
  const machine = {
    ...{ node: process.version, processor: cpus()[0]?.model ?? 'unknown', cores: availableParallelism() },
    ...{ pinned: canPin(), loadBefore: loadavg()[0] ?? 0, date: new Date().toISOString() },
  };
  pinGenerator();
  const lab = await startLab(options);
  if (!canPin()) lab.progress('no taskset or one core only: processes are not pinned, so ratios hold less');
  if (machine.loadBefore > 0.5) {
    lab.progress(`the machine is busy (load ${machine.loadBefore.toFixed(1)}): figures will be noisy`);
  }
  const stop = () => {
    void lab.stop().finally(() => process.exit(130));
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  const results: Result[] = [];
  try {
    for (const row of rows) {
      const wanted =
        options.only.length === 0 ? options.long || !longOnly.includes(row) : options.only.includes(row.name);
      if (wanted) results.push(...(await runRow(row, () => row.run(lab))));
    }
  } finally {
    await lab.stop();
  }
  const seconds = (performance.now() - started) / 1000;
  const directory = new URL('./results/', import.meta.url);
  mkdirSync(directory, { recursive: true });
  const report = { machine, seconds, loadAfter: loadavg()[0], options, results };
  writeFileSync(new URL('latest.json', directory), `${JSON.stringify(report, null, 2)}\n`);
  const short = results.filter(({ ok }) => ok === false).length;
  process.stdout.write(`${table(results)}\n\n`);
  process.stdout.write(`${machine.processor}, ${machine.cores} cores, Node.js ${machine.node}, `);
  process.stdout.write(`load ${machine.loadBefore.toFixed(1)} before; ${seconds.toFixed(0)} s\n`);
  process.stdout.write(
    `${results.length - short} met, ${short} short; figures in test/bench/results/latest.json\n`,
  );
  if (options.only.length === 0 && !options.long) {
    process.stdout.write(`left to --long, or --only: ${longOnly.map(({ name }) => name).join(', ')}\n`);
  }
  return options.strict && short > 0 ? 1 : 0;
}

/** A row that cannot be measured is short, and the others are measured all the same. */
async function runRow(row: Row, run: () => Promise<Result[]>): Promise<Result[]> {
  try {
    return await run();
  } catch (error) {
    const note = error instanceof Error ? error.message : String(error);
    process.stderr.write(`bench: ${row.name} failed: ${note}\n`);
    const firstLine = note.split('\n', 1)[0] ?? '';
    return [
      {
        row: row.name,
        measure: row.name,
        goal: '',
        measured: 'failed',
        ok: false,
        note: firstLine,
        figures: {},
      },
    ];
  }
}
