import fc from 'fast-check';
import { type Finding, type FuzzOptions, type FuzzReport, failuresOf } from './fuzz-report.ts';

/** What must hold of a parser, for whatever it is given. */
export interface ParserProperty {
  readonly name: string;
  readonly property: fc.IRawProperty<unknown>;
  /** How much of the runs it gets: slow ones less. */
  readonly share: number;
}

/** Longest that a parser may hold the process for one small case, measured a second time where it took longer. */
const slowMs = 250;

/** Fails when `work` takes longer than any small input may: catastrophic patterns and quadratic loops. */
export function quickly(work: () => void): void {
  for (let tries = 0; ; tries++) {
    const began = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(began);
    const ms = (user + system) / 1000;
    if (ms < slowMs) return;
    // Once may have been the garbage collector.
    if (tries === 2) throw new Error(`it takes ${Math.round(ms)} ms of processor time`);
  }
}

/** The same of work that may take longer the longer its text is: a megabyte takes ten times what a small one may. */
export async function quicklyDone(work: () => void | Promise<void>, length: number): Promise<void> {
  const most = slowMs * (1 + length / 100_000);
  for (let tries = 0; ; tries++) {
    const began = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(began);
    const ms = (user + system) / 1000;
    if (ms < most) return;
    if (tries === 2) throw new Error(`it takes ${Math.round(ms)} ms of processor time`);
  }
}

/** Runs the properties one after the other. */
export async function checkProperties(
  target: string,
  properties: readonly ParserProperty[],
  { runs, seed, limitMs }: FuzzOptions,
): Promise<FuzzReport> {
  const findings: Finding[] = [];
  const figures: Record<string, number> = {};
  let all = 0;
  for (const { name, property, share } of properties) {
    const numRuns = Math.max(20, Math.ceil(runs * share));
    const parameters = { numRuns, seed, interruptAfterTimeLimit: limitMs };
    const details = await fc.check(property as fc.IAsyncProperty<unknown>, parameters);
    findings.push(...failuresOf(`${target}: ${name}`, details));
    figures[name] = details.numRuns;
    all += details.numRuns;
  }
  return { target, runs: all, findings, figures };
}
