import type { FieldEdit } from './server.ts';

/** The part of a CRD's schema that forms are made from (OpenAPI 3.0). */
export interface FieldSchema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly items?: FieldSchema;
  readonly additionalProperties?: FieldSchema | boolean;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

type Path = FieldEdit['path'];
export type Fields = Readonly<Record<string, unknown>>;

/**
 * The edits that turn one spec into another: one for each member that differs, so that changes by others stay. Lists whose
 * entries have names are compared entry by entry; other lists are one value. An empty text, list or object means that the
 * field is not set.
 */
export function specEdits(
  before: Fields,
  after: Fields,
  schema: FieldSchema,
  path: Path = ['spec'],
): FieldEdit[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const member = schema.properties?.[name] ?? {};
    return fieldEdits(before[name], unsetIfEmpty(after[name]), member, [...path, name]);
  });
}

function fieldEdits(before: unknown, after: unknown, schema: FieldSchema, path: Path): FieldEdit[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (after === undefined) return [{ path, remove: true }];
  if (schema.properties !== undefined && isFields(before) && isFields(after)) {
    return specEdits(before, after, schema, path);
  }
  if (schema['x-kubernetes-list-map-keys']?.[0] === 'name' && Array.isArray(after)) {
    return entryEdits(Array.isArray(before) ? before : [], after, schema.items ?? {}, path);
  }
  return [{ path, value: after }];
}

function entryEdits(
  before: readonly unknown[],
  after: readonly unknown[],
  schema: FieldSchema,
  path: Path,
): FieldEdit[] {
  const was = byName(before);
  const is = byName(after);
  const gone: FieldEdit[] = [...was.keys()]
    .filter((name) => !is.has(name))
    .map((name) => ({ path: [...path, { name }], remove: true }));
  const kept = [...is].flatMap(([name, entry]): FieldEdit[] => {
    const old = was.get(name);
    const at: Path = [...path, { name }];
    return old === undefined ? [{ path: at, value: entry }] : specEdits(old, entry, schema, at);
  });
  return [...gone, ...kept];
}

function byName(entries: readonly unknown[]): Map<string, Fields> {
  return new Map(entries.filter(isFields).map((entry) => [String(entry['name']), entry]));
}

function unsetIfEmpty(value: unknown): unknown {
  if (value === '' || value === null) return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value;
  if (isFields(value)) {
    const members = Object.entries(value).filter(([, member]) => unsetIfEmpty(member) !== undefined);
    return members.length === 0 ? undefined : Object.fromEntries(members);
  }
  return value;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
