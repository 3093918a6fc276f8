import { documentValue } from './edit-yaml.ts';
import type { Placed } from './folder-index.ts';
import { manifestYaml } from './manifest-yaml.ts';

/** The document's own text without its `---` line; an entry of a list is printed alone. */
export function manifestText({ text, index, item, isAlone }: Placed): string {
  if (isAlone) return text.slice(markerOf(text).length);
  return manifestYaml(objectAt(documentValue(text, index), item));
}

/** The byte order mark and the `---` line at the start of a document. */
export function markerOf(stretch: string): string {
  return /^\uFEFF?(?:---[ \t]*(?:#[^\n]*)?\r?\n)?/.exec(stretch)?.[0] ?? '';
}

/** The object that a document is, or one entry of its `List`. */
export function objectAt(whole: unknown, item: number | undefined): Record<string, unknown> {
  const object = item === undefined ? whole : (whole as { items?: unknown[] }).items?.[item];
  return (object ?? {}) as Record<string, unknown>;
}

/** The value of a document with another object in that place. */
export function withObjectAt(whole: unknown, item: number | undefined, object: unknown): unknown {
  if (item === undefined) return object;
  const { items = [], ...others } = whole as { items?: unknown[] };
  return { ...others, items: items.map((each, at) => (at === item ? object : each)) };
}
