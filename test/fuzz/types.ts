import type { Ground } from '../soak/ground.ts';
import { confusedDocuments } from './confused-documents.ts';
import type { Finding, FuzzOptions, FuzzReport } from './fuzz-report.ts';
import { quicklyDone } from './properties.ts';
import { findingOf, sumOf, typeCases } from './type-cases.ts';
import { type TypeReader, typeReaders } from './type-readers.ts';
import { fuzzSockets } from './type-sockets.ts';

/** Most cases take less than a tenth of a millisecond. */
const timesAsMany = 10;
/** How much of the cases goes through a gateway's sockets; the others go to the readers in this process. */
const socketShare = 0.35;

/**
 * Confuses the types of every member of everything that may come in, in this process and at gateways that `newGround`
 * starts. Fails when a reader throws what is not documented or takes long; when a gateway ends, logs an error, calls
 * something its own error, answers in no documented form or not in time, grows, or serves an honest caller wrongly.
 */
export async function fuzzTypes(newGround: () => Promise<Ground>, options: FuzzOptions): Promise<FuzzReport> {
  const runs = options.runs * timesAsMany;
  const { seed } = options;
  const began = performance.now();
  const sockets = await fuzzSockets(newGround, { ...options, runs: Math.ceil(runs * socketShare) });
  const readersBegan = performance.now();
  const readers = await fuzzReaders({ ...options, runs: runs - sockets.runs, seed });
  const seconds = (from: number, to: number) => Math.round((to - from) / 100) / 10;
  return {
    target: 'types',
    runs: sockets.runs + readers.runs,
    findings: [...sockets.findings, ...readers.findings],
    figures: {
      ...{ bySocket: sockets.runs, socketSeconds: seconds(began, readersBegan) },
      ...{ inProcess: readers.runs, readerSeconds: seconds(readersBegan, performance.now()) },
      ...sockets.figures,
    },
  };
}

async function fuzzReaders({ runs, seed, tell }: FuzzOptions): Promise<Omit<FuzzReport, 'target'>> {
  const findings: Finding[] = [];
  const whole = sumOf(typeReaders);
  let done = 0;
  for (const reader of typeReaders) {
    const count = Math.ceil((runs * reader.share) / whole);
    const { tried, finding } = await tryReader(reader, count, seed);
    done += tried;
    if (finding !== undefined) findings.push(finding);
    tell(`types: ${reader.name}: ${tried} cases${finding === undefined ? '' : `, ${finding.reason}`}`);
  }
  return { runs: done, findings, figures: {} };
}

/** Ends with the first finding: the same fault would be found in most of the cases that follow. */
async function tryReader(reader: TypeReader, count: number, seed: number) {
  let tried = 0;
  for (const text of typeCases(confusedDocuments(reader.documents), count, seed)) {
    tried += 1;
    try {
      await quicklyDone(() => reader.read(text), text.length);
      if (Object.keys(Object.prototype).length > 0) throw new Error('Object.prototype was changed');
    } catch (error) {
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { tried, finding: findingOf(reader.name, seed, tried - 1, text, reason) };
    }
  }
  return { tried, finding: undefined };
}
