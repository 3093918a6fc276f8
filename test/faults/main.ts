// `npm run faults`: brings about one fault after the other while honest callers keep asking, and prints what was promised
// and what was seen. README.md tells how to read the table and how to add a fault.
import { mkdirSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { describeMachine, machineLine } from '../support/machine.ts';
import { allFaults } from './all-faults.ts';
import type { Fault } from './fault.ts';
import { missing } from './needs.ts';
import { type FaultOptions, faultOptions, usage } from './options.ts';
import { openTheatre, type Seen } from './play-fault.ts';
import { table } from './table.ts';

const code = await main();
// What a fault could not end must not keep this process; its guard ends the rest.
process.stdout.write('', () => process.exit(code));

async function main(): Promise<number> {
  let options: FaultOptions;
  try {
    options = faultOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
    return 2;
  }
  const chosen = allFaults.filter((fault) => isChosen(fault, options));
  if (chosen.length === 0) {
    process.stderr.write(`no fault is chosen\n\n${usage}\n`);
    return 2;
  }
  if (options.list) {
    for (const { id, promise } of chosen) process.stdout.write(`${id}: ${promise}\n`);
    return 0;
  }
  return playAll(chosen, options);
}

function isChosen(fault: Fault, { only, groups, long }: FaultOptions): boolean {
  if (!groups.includes(fault.group)) return false;
  if (only.length > 0) return only.some((text) => fault.id.includes(text));
  return long || fault.form !== 'long';
}

async function playAll(chosen: readonly Fault[], { long }: FaultOptions): Promise<number> {
  const machine = describeMachine();
  const began = performance.now();
  const all: Seen[] = [];
  const leftOut: string[] = [];
  const theatre = openTheatre({ long });
  // Processes end with this one, by their guard; mounts are in namespaces that end with the processes.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  try {
    for (const fault of chosen) {
      const lacks = missing(fault);
      if (lacks !== undefined) {
        leftOut.push(`${fault.id}: ${lacks}`);
        continue;
      }
      const seen = await theatre.play(fault);
      all.push(seen);
      const verdict = seen.differs.length === 0 ? 'as promised' : `DIFFERS: ${seen.differs.join(' | ')}`;
      const count = `${all.length + leftOut.length}/${chosen.length}`;
      process.stderr.write(`${count} ${fault.id} (${seen.seconds.toFixed(1)} s): ${verdict}\n`);
    }
  } finally {
    await theatre[Symbol.asyncDispose]();
  }
  const wrong = all.filter(({ differs }) => differs.length > 0).length;
  const seconds = (performance.now() - began) / 1000;
  const folder = new URL('./results/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  const report = { machine, seconds, leftOut, faults: all };
  writeFileSync(new URL('latest.json', folder), `${JSON.stringify(report, null, 2)}\n`);
  const honest = all.reduce((sum, each) => sum + each.honest.sent, 0);
  process.stdout.write(`${table(all)}\n\n`);
  for (const each of leftOut) process.stdout.write(`left out: ${each}\n`);
  process.stdout.write(
    `${machineLine(machine)}\n${all.length} faults in ${seconds.toFixed(0)} s, ${honest} honest requests meanwhile: ` +
      `${all.length - wrong} as promised, ${wrong} not; written to test/faults/results/latest.json\n`,
  );
  return wrong > 0 ? 1 : 0;
}
