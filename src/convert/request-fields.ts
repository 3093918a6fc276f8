import { ConversionError } from './conversion-error.ts';
import { isObject, type JsonObject } from './json.ts';
import { WrittenNumber } from './written-numbers.ts';

// The errors that `Fields` throws, and its checks.

type TypeName = 'string' | 'array' | 'object' | 'boolean' | 'number' | 'integer';

const anthropicNames: Readonly<Record<TypeName, string>> = {
  string: 'a valid string',
  array: 'a valid list',
  object: 'a valid dictionary',
  boolean: 'a valid boolean',
  number: 'a valid number',
  integer: 'a valid integer',
};

/** The path of a field of the object at `at`: `messages[0]` + `content` is `messages[0].content`. */
export function pathOf(at: string, key: string | number): string {
  if (typeof key === 'number') return `${at}[${key}]`;
  return at === '' ? key : `${at}.${key}`;
}

/** A required field is missing. */
export function missing(path: string): ConversionError {
  return new ConversionError({ code: 'missing_required_parameter', param: path, reason: 'Field required' });
}

/** A field has the wrong type. */
export function wrongType(path: string, expected: TypeName, value: unknown): ConversionError {
  return new ConversionError({
    code: 'invalid_type',
    param: path,
    reason: `Input should be ${anthropicNames[expected]}`,
    sentence: `Invalid type for '${path}': expected ${articled(expected)}, but got ${articled(typeName(value))} instead.`,
  });
}

/** A field has an invalid value of the expected type. */
export function invalid(path: string, reason: string): ConversionError {
  return new ConversionError({ code: 'invalid_value', param: path, reason });
}

/** The vendor accepts a value that chat-completions cannot express. */
export function unsupportedValue(path: string, reason: string): ConversionError {
  return new ConversionError({ code: 'unsupported_value', param: path, reason });
}

/** The vendor accepts a field that chat-completions cannot express. */
export function unsupportedParameter(path: string, reason: string): ConversionError {
  return new ConversionError({ code: 'unsupported_parameter', param: path, reason });
}

export function asObject(value: unknown, path: string): JsonObject {
  if (isObject(value)) return value;
  throw wrongType(path, 'object', value);
}

export function asList(value: unknown, path: string, most: number): readonly unknown[] {
  if (!Array.isArray(value)) throw wrongType(path, 'array', value);
  if (value.length > most)
    throw new ConversionError({
      code: 'array_above_max_length',
      param: path,
      reason: `List should have at most ${most} items, not ${value.length}`,
    });
  return value;
}

/** What a number may be; both ends belong to the range. */
export interface NumberRange {
  readonly least?: number;
  readonly most?: number;
  readonly integer?: boolean;
}

/** Whether a value is nested at most `most` levels deep. */
export function isNestedWithin(value: unknown, most: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return false;
    const next: unknown[] = [];
    for (const item of level)
      if (typeof item === 'object' && item !== null)
        for (const child of Object.values(item))
          if (typeof child === 'object' && child !== null) next.push(child);
    level = next;
  }
  return true;
}

function typeName(value: unknown): string {
  if (value instanceof WrittenNumber) return typeName(Number(value.written));
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function articled(name: string): string {
  if (name === 'null') return name;
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}
