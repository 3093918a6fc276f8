// `npm run bench`: measures the gateway side by side with the bare proxy and prints a table; README.md explains the rows.
import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import process from 'node:process';
import { describeMachine, machineLine } from '../support/machine.ts';
import { canPin, pinGenerator } from './affinity.ts';
import { startLab } from './lab.ts';
import { benchOptions, usage } from './options.ts';
import { behindWall } from './peers/behind-wall.ts';
import { noPeers } from './peers/installed.ts';
import { peerNotes, peerRows } from './peers/peer-rows.ts';
import type { Result, Row } from './result.ts';
import { affinity } from './rows/affinity.ts';
import { bigSet } from './rows/big-set.ts';
import { changes } from './rows/changes.ts';
import { concurrency } from './rows/concurrency.ts';
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
const ownRows: readonly Row[] = [
  ...[throughput, streaming, latency, idleStreams],
  ...[converted, convertedStreams, convertedLength, convertedMemory, convertedFirst],
  ...[affinity, concurrency, bigSet, changes],
];

/** Rows that would take the short run beyond three minutes. */
const longOnly: readonly Row[] = [convertedLength, convertedMemory, affinity, concurrency];

process.exitCode = await bench();

async function bench(): Promise<number> {
  let options: ReturnType<typeof benchOptions>;
  let rows = ownRows;
  try {
    options = benchOptions(process.argv.slice(2));
    if (options.peers) rows = peerRows;
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
  if (options.peers) {
    const code = await behindWall(options.check ? noPeers : undefined);
    if (code !== undefined) return code;
  }
  const started = performance.now();
  const machine = { ...describeMachine(), pinned: canPin() };
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
      if (!wanted) continue;
      const measured = await runRow(row, () => row.run(lab));
      results.push(...measured);
      // A run of minutes may be ended before its table.
      if (options.peers)
        for (const one of measured) lab.progress(`${one.measure}: ${one.measured} (${one.note})`);
    }
    if (options.peers) results.push(...peerNotes(options));
  } finally {
    await lab.stop();
  }
  const seconds = (performance.now() - started) / 1000;
  const directory = new URL('./results/', import.meta.url);
  mkdirSync(directory, { recursive: true });
  // Times as short as that of a check say nothing about goals; what could not be measured still counts.
  if (options.check) for (const result of results) if (result.measured !== 'failed') result.ok = undefined;
  const report = { machine, seconds, loadAfter: loadavg()[0], options, results };
  const file = options.peers ? (options.check ? 'check.json' : 'peers.json') : 'latest.json';
  writeFileSync(new URL(file, directory), `${JSON.stringify(report, null, 2)}\n`);
  const short = results.filter(({ ok }) => ok === false).length;
  process.stdout.write(`${table(results)}\n\n`);
  process.stdout.write(`${machineLine(machine)}; ${seconds.toFixed(0)} s\n`);
  process.stdout.write(
    `${results.length - short} met, ${short} short; figures in test/bench/results/${file}\n`,
  );
  if (options.only.length === 0 && !options.long && !options.peers) {
    process.stdout.write(`left to --long, or --only: ${longOnly.map(({ name }) => name).join(', ')}\n`);
  }
  return (options.strict || options.check) && short > 0 ? 1 : 0;
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
