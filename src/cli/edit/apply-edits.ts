import { isObject } from '../../resources/is-object.ts';
import type { Edit, Step } from './edit.ts';

type Members = Record<string, unknown>;

/**
 * A copy of the object with the edits made. Missing parents are created. A parent that a removal leaves empty is removed
 * too, except for the top level (`spec`, `metadata`).
 */
export function applyEdits(object: Readonly<Members>, edits: readonly Edit[]): Members {
  const result = copied(object) as Members;
  for (const edit of edits) {
    if ('remove' in edit) removeAt(result, edit.path);
    else setAt(result, edit.path, edit.value);
  }
  return result;
}

/** The value at a path; undefined if there is none. */
export function valueAt(object: unknown, path: readonly Step[]): unknown {
  let value = object;
  for (const step of path) value = childOf(value, step);
  return value;
}

/** A path as people write it: `spec.models[gpt-5].enabled`. */
export function pathText(path: readonly Step[]): string {
  return path
    .map((step, depth) => {
      if (typeof step !== 'string') return `[${step.name}]`;
      if (!/^[A-Za-z_][\w-]*$/.test(step)) return `[${JSON.stringify(step)}]`;
      return depth === 0 ? step : `.${step}`;
    })
    .join('');
}

function setAt(object: Members, path: readonly Step[], value: unknown): void {
  let parent: unknown = object;
  for (const [depth, step] of path.entries()) {
    const isLast = depth === path.length - 1;
    const next = path[depth + 1];
    const made = isLast ? copied(value) : typeof next === 'object' ? [] : {};
    const found = childOf(parent, step);
    const child = isLast || typeof found !== 'object' || found === null ? made : found;
    if (typeof step === 'string') {
      if (isObject(parent)) parent[step] = child;
    } else if (Array.isArray(parent)) {
      const entry = isObject(child) ? { name: step.name, ...child } : child;
      const index = indexOf(parent, step.name);
      if (index === -1) parent.push(entry);
      else parent[index] = entry;
      parent = entry;
      continue;
    }
    parent = child;
  }
}

function removeAt(object: Members, path: readonly Step[]): void {
  const parents: unknown[] = [object];
  for (const step of path.slice(0, -1)) parents.push(childOf(parents.at(-1), step));
  for (let depth = path.length - 1; depth >= 0; depth -= 1) {
    const parent = parents[depth];
    const step = path[depth];
    if (step === undefined || childOf(parent, step) === undefined) return;
    if (typeof step === 'string') delete (parent as Members)[step];
    else if (Array.isArray(parent)) parent.splice(indexOf(parent, step.name), 1);
    // An entry with nothing but its name counts as empty.
    if (depth < 2 || !saysNothing(parent, path[depth - 1])) return;
  }
}

function saysNothing(value: unknown, step: Step | undefined): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (!isObject(value)) return false;
  const names = Object.keys(value);
  return names.length === 0 || (typeof step === 'object' && names.length === 1 && names[0] === 'name');
}

function childOf(value: unknown, step: Step): unknown {
  if (typeof step === 'string') {
    return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return Array.isArray(value) ? value[indexOf(value, step.name)] : undefined;
}

function indexOf(list: readonly unknown[], name: string): number {
  return list.findIndex((entry) => isObject(entry) && entry['name'] === name);
}

/** A copy that shares nothing: an alias in YAML gives the same object in two places, and an edit must change only one. */
function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copied(member)]));
}
