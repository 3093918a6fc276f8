import type { z } from 'zod';
import { nearest } from './nearest.ts';
import { fieldPath, type Path, type Problem, printable } from './problem.ts';

type Issue = z.core.$ZodIssue;

/** Puts what zod found wrong into words. `document` is what was parsed: zod's issues do not hold the values. */
export function issueProblem(issue: Issue, document: unknown): Problem {
  if (issue.code === 'unrecognized_keys')
    return {
      path: fieldPath([...issue.path, ...issue.keys.slice(0, 1)]),
      reason: 'is not a field',
      remedy: 'remove it',
    };
  const closest = issue.code === 'invalid_union' ? closestOf(issue.errors) : undefined;
  if (closest !== undefined)
    return issueProblem({ ...closest, path: [...issue.path, ...closest.path] }, document);
  const found = valueAt(document, issue.path);
  const place = { path: fieldPath(issue.path) };
  if (found === undefined && issue.code !== 'custom')
    return { ...place, reason: 'is missing', remedy: missingRemedy(issue) };
  const value = issue.code === 'invalid_type' ? undefined : printable(issue.path, found);
  return { ...place, ...(value === undefined ? {} : { value }), ...words(issue, found) };
}

/** What is wrong with the form of a union that fits best. */
function closestOf(forms: readonly (readonly Issue[])[]): Issue | undefined {
  return forms.toSorted((one, other) => one.length - other.length)[0]?.[0];
}

function words(issue: Issue, found: unknown): Pick<Problem, 'reason' | 'remedy'> {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue.expected, found);
    case 'too_big':
      return tooBig(issue.origin, Number(issue.maximum));
    case 'too_small':
      return tooSmall(issue.origin, Number(issue.minimum));
    case 'invalid_value':
      return notOneOf(issue.values.map(String), found);
    case 'custom':
      return { reason: issue.message, remedy: remedyOf(issue.params) };
    default:
      return { reason: 'is not valid', remedy: 'correct it' };
  }
}

function remedyOf(params: Readonly<Record<string, unknown>> | undefined): string {
  const remedy = params?.['remedy'];
  return typeof remedy === 'string' ? remedy : 'correct it';
}

function wrongType(expected: string, found: unknown): Pick<Problem, 'reason' | 'remedy'> {
  const wanted = typeNames.get(expected) ?? expected;
  const is = typeNames.get(typeOf(found)) ?? typeOf(found);
  if (expected === 'int') return { reason: 'must be a whole number', remedy: 'write it without a fraction' };
  const scalar = expected === 'string' && (typeof found === 'number' || typeof found === 'boolean');
  return {
    reason: `must be ${wanted}, not ${is}`,
    remedy: scalar
      ? 'put it in quotes'
      : typeof found === 'string'
        ? inQuotes(expected, found)
        : 'correct it',
  };
}

/** A text is only in quotes where YAML would read it as something else without them. */
function inQuotes(expected: string, found: string): string {
  const isOther = expected === 'number' ? /^-?\d+(?:\.\d+)?$/ : /^(?:true|false)$/;
  const isScalar = expected === 'number' || expected === 'boolean';
  return isScalar && isOther.test(found) ? 'remove the quotes' : 'correct it';
}

const typeNames: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    string: 'a string',
    number: 'a number',
    int: 'a whole number',
    boolean: 'true or false',
    array: 'a list',
    object: 'an object',
    record: 'an object',
    null: 'null',
  }),
);

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const units: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({ string: ' characters', array: ' entries' }),
);

function tooBig(origin: string, maximum: number): Pick<Problem, 'reason' | 'remedy'> {
  const unit = units.get(origin);
  if (unit === undefined) return { reason: `must be at most ${maximum}`, remedy: 'lower it' };
  return {
    reason: `must have at most ${maximum}${unit}`,
    remedy: origin === 'array' ? 'remove some' : 'shorten it',
  };
}

function tooSmall(origin: string, minimum: number): Pick<Problem, 'reason' | 'remedy'> {
  const unit = units.get(origin);
  if (unit === undefined) return { reason: `must be at least ${minimum}`, remedy: 'raise it' };
  if (minimum === 1) return { reason: 'must not be empty', remedy: 'fill it, or leave the field out' };
  return { reason: `must have at least ${minimum}${unit}`, remedy: 'complete it' };
}

function notOneOf(values: readonly string[], found: unknown): Pick<Problem, 'reason' | 'remedy'> {
  const meant = typeof found === 'string' ? nearest(found, values) : undefined;
  return {
    reason: values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(', ')}`,
    remedy:
      meant !== undefined ? `did you mean ${meant}?` : values.length === 1 ? 'write that' : 'use one of them',
  };
}

function missingRemedy(issue: Issue): string {
  return issue.code === 'invalid_value' ? `add it: ${issue.values.join(' or ')}` : 'add it';
}

function valueAt(document: unknown, path: Path): unknown {
  let value = document;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return value;
}
