import type { JsonSchema } from './json-schema.ts';
import { nearest } from './nearest.ts';
import type { Problem } from './problem.ts';
import { fieldPath, type Path } from './problem.ts';

/**
 * Finds members of a document that its schema does not know. Values are never shown: a member in the wrong place may
 * well be a credential.
 * @param limit most problems to collect; a document may hold millions
 */
export function unknownFields(document: unknown, schema: JsonSchema, limit: number): Problem[] {
  const problems: Problem[] = [];
  visit(document, schema, [], problems, limit);
  return problems;
}

function visit(value: unknown, schema: JsonSchema, path: Path, problems: Problem[], limit: number): void {
  if (problems.length >= limit || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    for (const [index, entry] of value.entries()) visit(entry, items, [...path, index], problems, limit);
    return;
  }
  const { properties } = schema;
  if (properties === undefined) return;
  for (const [name, member] of Object.entries(value)) {
    if (problems.length >= limit) return;
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known === undefined) problems.push(unknownField([...path, name], name, Object.keys(properties)));
    else visit(member, known, [...path, name], problems, limit);
  }
}

function unknownField(path: Path, name: string, known: readonly string[]): Problem {
  const meant = nearest(name, known);
  const remedy =
    meant === undefined ? `remove it; fields here are ${known.join(', ')}` : `did you mean ${meant}?`;
  return { path: fieldPath(path), reason: 'is not a field', remedy };
}
