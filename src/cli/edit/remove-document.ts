import { documentValue, editYaml } from './edit-yaml.ts';
import type { Placed } from './folder-index.ts';
import { parseSource, UneditableError } from './yaml-source.ts';

/**
 * The text of a file without one of its objects; undefined if nothing but comments is left. Comments at the top of the
 * file stay if a blank line separates them from the document. Throws UneditableError.
 */
export function withoutDocument(text: string, placed: Placed): string | undefined {
  const { start, end, index, item } = placed;
  const stretch = text.slice(start, end);
  if (item !== undefined) {
    const whole = documentValue(stretch, index) as { items: unknown[] };
    const items = whole.items.filter((_, at) => at !== item);
    if (items.length > 0) {
      return text.slice(0, start) + editYaml(stretch, index, { ...whole, items }) + text.slice(end);
    }
  }
  if (placed.documents === 1) return undefined;
  if (start === 0 && end === text.length)
    throw new UneditableError('only a YAML parser can separate its documents');
  const head = start === 0 ? headComment(stretch) : '';
  const rest = text.slice(0, start) + head + text.slice(end);
  if (parseSource(rest).every((document) => document.contents === null)) return undefined;
  return rest;
}

/** The comments at the top of a file, if a blank line follows them. */
function headComment(stretch: string): string {
  return /^(?:\uFEFF)?(?:#[^\n]*\n)+[ \t]*\r?\n/.exec(stretch)?.[0] ?? '';
}
