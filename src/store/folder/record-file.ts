import { dirname } from 'node:path';
import { z } from 'zod';
import type { ResourceRecord } from './resource-record.ts';

/** A file of records as it was read: the records are looked into one by one, when they are needed. */
export interface RecordFile {
  /** The line of each record, by its id. */
  readonly lines: Map<string, string>;
  /** Conditions that the statuses of this file name by their place in here. */
  readonly conditions: readonly unknown[];
}

/** The format of the files. New optional fields leave it as it is; who changes it reads the former one too. */
const version = 2;

/** A file of another format than this program's: to overwrite it would lose what it holds. */
class RecordVersionError extends Error {
  override readonly name = 'RecordVersionError';
}

const versionSchema = z.object({ version: z.unknown() });
const headerSchema = z.object({ version: z.literal(version), conditions: z.array(z.unknown()) });
const recordSchema = z.object({
  uid: z.string(),
  creationTimestamp: z.string(),
  generation: z.int(),
  specMark: z.string(),
  spec: z.record(z.string(), z.unknown()).optional(),
  file: z.string().optional(),
  status: z.looseObject({ conditions: z.array(z.int().min(0)).optional() }).optional(),
});

/**
 * A line for each record, so that a start holds their text and not their objects, which take five times the memory; and
 * above them, each once, the conditions that nearly all statuses repeat.
 */
export function recordFileText(records: Iterable<readonly [id: string, record: ResourceRecord]>): string {
  const places = new Map<unknown, number>();
  const placeOf = (condition: unknown): number => {
    const place = places.get(condition) ?? places.size;
    places.set(condition, place);
    return place;
  };
  const lines = Array.from(records, ([id, record]) => {
    const status = record.status as { readonly conditions?: readonly unknown[] } | undefined;
    if (status?.conditions === undefined) return JSON.stringify({ id, ...record });
    return JSON.stringify({
      id,
      ...record,
      status: { ...status, conditions: status.conditions.map(placeOf) },
    });
  });
  const header = { version, conditions: [...places.keys()] };
  return `${[JSON.stringify(header), ...lines].join('\n')}\n`;
}

/**
 * @returns undefined when the text is not what `recordFileText` writes
 * @throws RecordVersionError when another version of this program wrote it; `path` is for its message
 */
export function readRecordFile(text: string, path: string): RecordFile | undefined {
  const [first = '', ...rest] = text.split('\n');
  const head = parseJson(first);
  const found = versionSchema.safeParse(head).data?.version;
  if (typeof found === 'number' && found !== version) {
    throw new RecordVersionError(
      `The file ${path} has format ${found}, and this version of the program knows format ${version} alone; start the version that wrote it, or remove the folder ${dirname(path)} (statuses are then made anew; generated keys stay in force)`,
    );
  }
  const header = headerSchema.safeParse(head);
  if (!header.success || rest.pop() !== '') return undefined;
  const lines = new Map<string, string>();
  for (const line of rest) {
    if (!line.startsWith(lineStart)) return undefined;
    lines.set(line.slice(lineStart.length, line.indexOf('"', lineStart.length)), line);
  }
  return { lines, conditions: header.data.conditions };
}

const lineStart = '{"id":"';

/** @returns undefined when the line is damaged */
export function readRecord(line: string, conditions: readonly unknown[]): ResourceRecord | undefined {
  const parsed = recordSchema.safeParse(parseJson(line));
  if (!parsed.success) return undefined;
  const { status, ...record } = parsed.data;
  if (status === undefined) return record;
  if (status.conditions === undefined) return { ...record, status };
  return {
    ...record,
    status: { ...status, conditions: status.conditions.map((place) => conditions[place]) },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
