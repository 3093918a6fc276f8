import { type Document, parseAllDocuments } from 'yaml';

/** The text cannot be edited; the message says why. */
export class UneditableError extends Error {
  override readonly name = 'UneditableError';
}

/** Parses as standalone mode does. Throws UneditableError. */
export function parseSource(text: string): Document[] {
  const documents = parseAllDocuments(text, {
    stringKeys: true,
    prettyErrors: false,
    // kubectl reads YAML 1.1, in which `on` and `1:30` are not strings.
    compat: 'yaml-1.1',
  });
  if (!Array.isArray(documents)) return [];
  const faulty = documents.find(({ errors }) => errors.length > 0);
  if (faulty !== undefined) throw new UneditableError('it is not YAML');
  return documents as unknown as Document[];
}

/** The line break that the text uses. */
export function lineBreakOf(text: string): '\n' | '\r\n' {
  const first = text.indexOf('\n');
  return first > 0 && text[first - 1] === '\r' ? '\r\n' : '\n';
}
