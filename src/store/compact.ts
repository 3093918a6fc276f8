import type { Resource } from '../resources/resource.ts';

/** The size of the caches of strings and of small objects. A new value replaces the one in the slot that its hash selects. */
const places = 4_096;
const strings: (string | undefined)[] = new Array(places).fill(undefined);
const objects: (object | undefined)[] = new Array(places).fill(undefined);
const longestString = 256;

/**
 * Returns the same resource in half the memory, for a process that keeps 100,000 of them. An object that a schema builds
 * field by field has room for fields that it never gets, while an object of JSON.parse is exactly as large as it must be.
 * Equal strings (namespaces, times, messages) and equal small objects (conditions, labels, models) are shared as long as
 * the caches hold them. Do not write to them.
 *
 * `document` is what the resource was read from: a result of JSON.parse that nothing else uses. It is returned itself if
 * the schema neither dropped nor added anything.
 */
export function compact<R extends Resource>(resource: R, document?: unknown): R {
  const exact = isSaidBy(resource, document) ? document : JSON.parse(JSON.stringify(resource));
  return shared(exact) as R;
}

/** Whether a document has exactly the fields of what was read from it. */
function isSaidBy(value: unknown, document: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === document;
  if (typeof document !== 'object' || document === null) return false;
  if (Array.isArray(value)) {
    return (
      Array.isArray(document) &&
      document.length === value.length &&
      value.every((entry, index) => isSaidBy(entry, document[index]))
    );
  }
  let extra = 0;
  for (const name in document) if (Object.hasOwn(document, name)) extra += 1;
  for (const name in value) {
    const field = (value as Record<string, unknown>)[name];
    if (field === undefined) continue;
    if (!Object.hasOwn(document, name)) return false;
    if (!isSaidBy(field, (document as Record<string, unknown>)[name])) return false;
    extra -= 1;
  }
  return extra === 0;
}

function shared(value: unknown): unknown {
  if (typeof value === 'string') return sharedString(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) value[index] = shared(value[index]);
    return value;
  }
  const fields = value as Record<string, unknown>;
  let isFlat = true;
  let mark = 17;
  for (const name in fields) {
    const field = shared(fields[name]);
    fields[name] = field;
    if (typeof field === 'string') mark = (mark * 31 + markOf(field)) | 0;
    else if (typeof field === 'object') isFlat = false;
  }
  return isFlat ? sharedObject(fields, mark) : value;
}

function sharedString(text: string): string {
  if (text.length > longestString) return text;
  const place = markOf(text) & (places - 1);
  const known = strings[place];
  if (known === text) return known;
  strings[place] = text;
  return text;
}

/** A hash of the length and some characters. Most are the last ones, because similar names differ at their ends. */
function markOf(text: string): number {
  const { length } = text;
  let mark = length;
  for (let index = Math.max(0, length - 8); index < length; index += 1) {
    mark = (mark * 31 + text.charCodeAt(index)) | 0;
  }
  return (mark * 31 + text.charCodeAt(length >> 1)) | 0;
}

function sharedObject(fields: Record<string, unknown>, mark: number): object {
  const place = mark & (places - 1);
  const known = objects[place] as Record<string, unknown> | undefined;
  if (known !== undefined && isEqual(known, fields)) return known;
  objects[place] = fields;
  return fields;
}

function isEqual(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const names = Object.keys(b);
  return (
    Object.keys(a).length === names.length &&
    names.every((name) => Object.hasOwn(a, name) && a[name] === b[name])
  );
}
