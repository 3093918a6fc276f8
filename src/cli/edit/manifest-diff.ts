import { isDeepStrictEqual } from 'node:util';
import { LineCounter, parseDocument } from 'yaml';
import { DeclarationError } from './declarations.ts';
import type { Edit, Step } from './edit.ts';

type Members = Record<string, unknown>;

/**
 * The edits that make one manifest of another, as an editor leaves it. Entries of `models` and `headers` are compared by
 * name. Throws DeclarationError `Invalid` where the text is not YAML, or changes what says which resource it is.
 */
export function manifestDiff(before: string, after: string): Edit[] {
  const [old, now] = [read(before), read(after)];
  const { metadata: oldMetadata = {}, spec: oldSpec, ...oldOthers } = old;
  const { metadata = {}, spec, status: _, ...others } = now;
  const { status: __, ...identity } = oldOthers;
  for (const field of new Set([...Object.keys(identity), ...Object.keys(others)])) {
    if (!isDeepStrictEqual(identity[field], others[field])) throw refused(field);
  }
  const { labels: oldLabels, annotations: oldAnnotations, ...oldMeta } = membersOf(oldMetadata, 'metadata');
  const { labels, annotations, ...meta } = membersOf(metadata, 'metadata');
  for (const field of new Set([...Object.keys(oldMeta), ...Object.keys(meta)])) {
    if (!isDeepStrictEqual(oldMeta[field], meta[field])) throw refused(`metadata.${field}`);
  }
  return [
    ...difference(membersOf(oldLabels, 'metadata.labels'), membersOf(labels, 'metadata.labels'), [
      'metadata',
      'labels',
    ]),
    ...difference(
      membersOf(oldAnnotations, 'metadata.annotations'),
      membersOf(annotations, 'metadata.annotations'),
      ['metadata', 'annotations'],
    ),
    ...difference(membersOf(oldSpec, 'spec'), membersOf(spec, 'spec'), ['spec']),
  ];
}

/** The edits between two values, member by member; a null is taken for absent, as the API server does. */
function difference(before: unknown, after: unknown, path: readonly Step[]): Edit[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (isNamedList(before) && isNamedList(after)) {
    const steps = new Set([...before, ...after].map(({ name }) => name));
    return [...steps].flatMap((name) => {
      const find = (list: readonly NamedEntry[]) => list.find((entry) => entry.name === name);
      return between(find(before), find(after), [...path, { name }]);
    });
  }
  if (isMembers(before) && isMembers(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) => between(before[name], after[name], [...path, name]));
  }
  return [{ path, value: after }];
}

function between(before: unknown, after: unknown, path: readonly Step[]): Edit[] {
  if (after === undefined || after === null) {
    return before === undefined || before === null ? [] : [{ path, remove: true }];
  }
  if (before === undefined || before === null) {
    // Entry by entry, so that each is owned by itself.
    if (isNamedList(after) && after.length > 0)
      return after.map((entry) => ({ path: [...path, { name: entry.name }], value: entry }));
    return [{ path, value: after }];
  }
  return difference(before, after, path);
}

interface NamedEntry extends Members {
  readonly name: string;
}

function isNamedList(value: unknown): value is NamedEntry[] {
  if (!Array.isArray(value)) return false;
  const names = value.map((entry: unknown) => (isMembers(entry) ? entry['name'] : undefined));
  return names.every((name) => typeof name === 'string') && new Set(names).size === names.length;
}

function read(text: string): Members {
  const lines = new LineCounter();
  const document = parseDocument(text, { stringKeys: true, prettyErrors: false, lineCounter: lines });
  const [error] = document.errors;
  if (error !== undefined) {
    // The parser's own message quotes the text.
    const { line } = lines.linePos(error.pos[0]);
    throw new DeclarationError(
      'Invalid',
      `The manifest is not YAML at line ${line} (${error.code.toLowerCase().replaceAll('_', ' ')}); correct it there.`,
    );
  }
  return membersOf(document.toJS({ maxAliasCount: 100 }), '');
}

function membersOf(value: unknown, field: string): Members {
  if (value === undefined || value === null) return {};
  if (isMembers(value)) return value;
  const message = 'must be an object; write its fields below it';
  throw new DeclarationError('Invalid', `${field === '' ? 'The manifest' : field} ${message}.`, [
    { field, message },
  ]);
}

function refused(field: string): DeclarationError {
  const message = 'cannot be changed by an edit; create another resource, and delete this one';
  return new DeclarationError('Invalid', `${field} ${message}.`, [{ field, message }]);
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
