import { parseAsWritten, WrittenNumber } from './written-numbers.ts';

/** A parsed JSON object whose fields are not checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object: not null, not a list. */
export function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof WrittenNumber)
  );
}

/** The object, or an empty one: for upstream bodies, where a wrong type means "not there". */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The list, or an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The text, or `''`. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The parsed text, or undefined if it is not JSON. (`null` is JSON and gives null.) */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The same, with the digits of numbers that a double would change (written-numbers.ts). */
export function parseJsonAsWritten(text: string): unknown {
  try {
    return parseAsWritten(text);
  } catch {
    return undefined;
  }
}
