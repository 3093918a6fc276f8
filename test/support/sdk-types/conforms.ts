import { isObject } from '../../../src/convert/json.ts';
import type { Alternative, TypeGraph } from './type-graph.ts';
import { literalsOf, shapeOf } from './type-graphs.ts';

/** What keeps a value from being of one of the types: a member that is required and absent, a wrong type. Others may be there. */
export function faultsOf(
  graph: TypeGraph,
  alternatives: readonly Alternative[],
  value: unknown,
  path: string,
): readonly string[] {
  let fewest: readonly string[] | undefined;
  for (const alternative of alternatives) {
    if (!mayBe(graph, alternative, value)) continue;
    const faults = faultsIn(graph, alternative, value, path);
    if (faults.length === 0) return faults;
    if (fewest === undefined || faults.length < fewest.length) fewest = faults;
  }
  return fewest ?? [`${path} is ${shown(value)}`];
}

function faultsIn(
  graph: TypeGraph,
  alternative: Alternative,
  value: unknown,
  path: string,
): readonly string[] {
  if (typeof alternative === 'string' || 'literal' in alternative) return [];
  if ('list' in alternative)
    return (value as readonly unknown[]).flatMap((item) =>
      faultsOf(graph, alternative.list, item, `${path}[]`),
    );
  const fields = value as Readonly<Record<string, unknown>>;
  if ('record' in alternative)
    return Object.values(fields).flatMap((item) => faultsOf(graph, alternative.record, item, `${path}.*`));
  return Object.entries(shapeOf(graph, alternative.type)).flatMap(([key, types]) => {
    const name = key.endsWith('?') ? key.slice(0, -1) : key;
    const own = `${path}.${name}`;
    if (fields[name] !== undefined) return faultsOf(graph, types, fields[name], own);
    return key.endsWith('?') || key === '[]' ? [] : [`${own} is absent (${alternative.type})`];
  });
}

/** Whether a value is of the kind of an alternative; objects of a union are told apart by their tags. */
function mayBe(graph: TypeGraph, alternative: Alternative, value: unknown): boolean {
  if (alternative === 'unknown') return true;
  if (alternative === 'null') return value === null;
  if (typeof alternative === 'string') return typeof value === alternative;
  if ('literal' in alternative) return value === alternative.literal;
  if ('list' in alternative) return Array.isArray(value);
  if (!isObject(value)) return false;
  if ('record' in alternative) return true;
  const shape = shapeOf(graph, alternative.type);
  return ['type', 'role', 'object'].every((tag) => {
    const literals = literalsOf(shape[tag]);
    return literals.length === 0 || (literals as readonly unknown[]).includes(value[tag]);
  });
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
