import { isObject } from '../../resources/is-object.ts';
import { pathText } from './apply-edits.ts';
import type { Step } from './edit.ts';

/**
 * Fields of an object as `managedFields` writes them (FieldsV1): `f:` a member, `k:` the entry of a map list with these
 * keys, `v:` an entry of a set, `.` the thing itself. Our lists of objects are map lists on `name`, all others sets.
 */
export type FieldTree = { readonly [key: string]: FieldTree };
type MutableTree = { [key: string]: MutableTree };

/** The keys from the root down to one field. */
export type FieldKeys = readonly string[];

/** The tree of all fields of a value. */
export function fieldsOf(value: unknown): FieldTree {
  const tree: MutableTree = {};
  for (const [key, child] of childrenOf(value)) tree[key] = fieldsOf(child) as MutableTree;
  for (const [key, entry] of Object.entries(tree)) if (key.startsWith('k:')) entry['.'] = {};
  return tree;
}

/** A tree that a server wrote, with its keys in the spelling of `fieldsOf`; empty if it is not a tree. */
export function readTree(tree: unknown): FieldTree {
  if (!isObject(tree)) return {};
  return Object.fromEntries(
    Object.entries(tree).map(([key, child]) => [/^[kv]:/.test(key) ? respelled(key) : key, readTree(child)]),
  );
}

/** The fields that have nothing below them. */
export function* leavesOf(tree: FieldTree, above: FieldKeys = []): Generator<FieldKeys> {
  for (const [key, child] of Object.entries(tree)) {
    const keys = [...above, key];
    if (Object.keys(child).length === 0) yield keys;
    else yield* leavesOf(child, keys);
  }
}

/** The fields of a value that have nothing below them, with their values; by their keys as one text. */
export function leafValues(
  value: unknown,
  above: FieldKeys = [],
  leaves = new Map<string, { readonly keys: FieldKeys; readonly value: unknown }>(),
): ReadonlyMap<string, { readonly keys: FieldKeys; readonly value: unknown }> {
  const children = childrenOf(value);
  if (children.length === 0 && above.length > 0) leaves.set(above.join('\n'), { keys: above, value });
  for (const [key, child] of children) {
    if (key.startsWith('k:')) {
      const keys = [...above, key, '.'];
      leaves.set(keys.join('\n'), { keys, value: true });
    }
    leafValues(child, [...above, key], leaves);
  }
  return leaves;
}

export function holdsField(tree: FieldTree, keys: FieldKeys): boolean {
  let found: FieldTree | undefined = tree;
  for (const key of keys) found = found !== undefined && Object.hasOwn(found, key) ? found[key] : undefined;
  return found !== undefined;
}

/** The tree below a key; empty if there is none. */
function childOf(tree: FieldTree, key: string): FieldTree {
  return Object.hasOwn(tree, key) ? (tree[key] ?? {}) : {};
}

export function union(left: FieldTree, right: FieldTree): FieldTree {
  const result: MutableTree = { ...(left as MutableTree) };
  for (const [key, child] of Object.entries(right))
    result[key] = union(childOf(result, key), child) as MutableTree;
  return result;
}

/** The part of an object that has the fields of a tree: what their owner applied. */
export function partOf(value: unknown, tree: FieldTree): unknown {
  const keys = Object.keys(tree).filter((key) => key !== '.');
  // If the tree has no fields below a value, the owner has only the presence of an object, but the whole of a list.
  if (keys.length === 0) return isObject(value) ? {} : value;
  const children = new Map(childrenOf(value));
  const present = keys.filter((key) => children.has(key));
  if (Array.isArray(value)) {
    return present.map((key) => {
      const entry = children.get(key);
      const part = partOf(entry, childOf(tree, key));
      return isObject(part) && isObject(entry) ? { name: entry['name'], ...part } : part;
    });
  }
  return Object.fromEntries(
    present.map((key) => [key.slice(2), partOf(children.get(key), childOf(tree, key))]),
  );
}

/** The value of one field; undefined if there is none. */
export function fieldValue(object: unknown, keys: FieldKeys): unknown {
  let value = object;
  for (const key of keys) {
    if (key === '.') return true;
    value = new Map(childrenOf(value)).get(key);
  }
  return value;
}

/** A field as people write it: `spec.models[gpt-5].enabled`. */
export function fieldText(keys: FieldKeys): string {
  return pathText(keys.filter((key) => key !== '.').map(stepOf));
}

function stepOf(key: string): Step {
  if (key.startsWith('f:')) return key.slice(2);
  const value = parsed(key);
  return { name: shown(key.startsWith('k:') && isObject(value) ? value['name'] : value) };
}

function childrenOf(value: unknown): [string, unknown][] {
  if (Array.isArray(value)) {
    return value.map((entry) =>
      isObject(entry)
        ? [`k:${JSON.stringify({ name: entry['name'] })}`, entry]
        : [`v:${JSON.stringify(entry)}`, entry],
    );
  }
  if (!isObject(value)) return [];
  return Object.entries(value).map(([name, member]) => [`f:${name}`, member]);
}

function respelled(key: string): string {
  const value = parsed(key);
  return value === undefined ? key : `${key.slice(0, 2)}${JSON.stringify(value)}`;
}

function parsed(key: string): unknown {
  try {
    return JSON.parse(key.slice(2));
  } catch {
    return undefined;
  }
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
