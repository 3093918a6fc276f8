import { readFileSync } from 'node:fs';
import type { Alternative, Shape, TypeGraph } from './type-graph.ts';

/** The types of an SDK, by the file that `npm run generate` wrote. */
export function readTypeGraph(name: string): TypeGraph {
  const known = graphs.get(name);
  if (known !== undefined) return known;
  const graph = JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8')) as TypeGraph;
  graphs.set(name, graph);
  return graph;
}

const graphs = new Map<string, TypeGraph>();

/** The members of an object type. */
export function shapeOf(graph: TypeGraph, name: string): Shape {
  const shape = graph.types[name];
  if (shape === undefined) throw new Error(`${graph.sdk} has no type ${name}`);
  return shape;
}

/** The literals of a member, where it has nothing else: what tells the types of a union apart. */
export function literalsOf(
  alternatives: readonly Alternative[] = [],
): readonly (string | number | boolean)[] {
  return alternatives.flatMap((each) =>
    typeof each === 'object' && 'literal' in each ? [each.literal] : [],
  );
}
