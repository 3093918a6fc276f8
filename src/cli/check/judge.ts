import type { Circumstances } from './circumstances.ts';
import { classFindings } from './class-rules.ts';
import { documentFindings } from './document-rules.ts';
import type { Finding } from './finding.ts';
import type { CheckedFolder } from './folder.ts';
import { keyFindings } from './key-rules.ts';
import { nodeFindings } from './node-rules.ts';

/** The findings of all rules about what a folder declares. Pure. */
export function judge(folder: CheckedFolder, circumstances: Circumstances): Finding[] {
  return [
    ...documentFindings(folder),
    ...nodeFindings(folder),
    ...keyFindings(folder, circumstances),
    ...classFindings(folder, circumstances),
  ];
}

/** By file and place. */
export function sorted(findings: readonly Finding[]): Finding[] {
  return findings.toSorted(
    (one, other) =>
      (one.file < other.file ? -1 : Number(one.file > other.file)) ||
      one.line - other.line ||
      one.column - other.column ||
      (one.rule < other.rule ? -1 : Number(one.rule > other.rule)),
  );
}
