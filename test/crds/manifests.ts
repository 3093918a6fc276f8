import { readdirSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

const manifestSchema = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) });

/** A document of a test manifest: enough of it is known to send it to an API server. */
export type Manifest = z.output<typeof manifestSchema>;

/** The names of the files in `good`, `bad` or `changes`, without their ending. */
export function filesIn(folder: 'good' | 'bad' | 'changes'): string[] {
  return readdirSync(new URL(`./${folder}/`, import.meta.url)).map((name) => name.replace(/\.yaml$/, ''));
}

/** The documents of one file. */
export function manifests(folder: 'good' | 'bad' | 'changes', file: string): Manifest[] {
  const text = readFileSync(new URL(`./${folder}/${file}.yaml`, import.meta.url), 'utf8');
  return parseAllDocuments(text).map((document) => manifestSchema.parse(document.toJS()));
}

/** The first document of one file. */
export function manifest(folder: 'good' | 'bad', file: string): Manifest {
  return manifestSchema.parse(manifests(folder, file)[0]);
}
