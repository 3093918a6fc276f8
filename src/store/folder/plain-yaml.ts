/**
 * Reads the plain core of YAML, about thirty times as fast as the full parser: block mappings and sequences whose keys
 * are simple words and whose values are one-line scalars or lists of them.
 *
 * Folders of 100,000 keys are read at every start, which takes the full parser ten seconds. This reader answers only
 * where its result is certainly the full parser's; at the first sign of anything else it gives up. Errors are never
 * its business. `test/unit/store/folder/plain-yaml.test.ts` holds the two against each other.
 * @returns the document's value, or undefined when the full parser has to read it
 */
export function readPlainYaml(text: string): Record<string, unknown> | undefined {
  const lines = readLines(text);
  if (lines === undefined || lines.contents.length === 0 || lines.indents[0] !== 0) return undefined;
  try {
    const value = readMapping(lines, 0, 0);
    return lines.next === lines.contents.length ? value : undefined;
  } catch (error) {
    if (error === notPlain) return undefined;
    throw error;
  }
}

interface Lines {
  readonly indents: number[];
  readonly contents: string[];
  next: number;
}

const notPlain = new Error('not plain YAML');
const maxDepth = 32;

const space = 0x20;
const hash = 0x23;

function readLines(text: string): Lines | undefined {
  const lines: Lines = { indents: [], contents: [], next: 0 };
  let start = 0;
  let first = true;
  while (start < text.length) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    let at = start;
    while (at < end && text.charCodeAt(at) === space) at += 1;
    if (at < end && text.charCodeAt(at) !== hash) {
      const content = text.slice(at, end).trimEnd();
      if (first && at === start && content === '---') {
        first = false;
      } else {
        // A comment behind a value, a tab or a carriage return: rare, and each has rules of its own.
        if (unusual.test(content)) return undefined;
        first = false;
        lines.indents.push(at - start);
        lines.contents.push(content);
      }
    }
    start = end + 1;
  }
  return lines;
}

const unusual = /[^\x20-\x7e]|#/;
const keyLine = /^([A-Za-z_][A-Za-z0-9_./-]*):(?: +(.+))?$/;
const wordsWithMeaning = /^(?:null|true|false|__proto__)$/i;

function readMapping(lines: Lines, indent: number, depth: number): Record<string, unknown> {
  if (depth > maxDepth) throw notPlain;
  const mapping: Record<string, unknown> = {};
  while (lines.indents[lines.next] === indent) {
    const match = keyLine.exec(lines.contents[lines.next] ?? '');
    const key = match?.[1];
    if (match === null || key === undefined) {
      // A sequence below a key of the same indent has ended the mapping that holds it.
      throw notPlain;
    }
    if (wordsWithMeaning.test(key) || Object.hasOwn(mapping, key)) throw notPlain;
    lines.next += 1;
    const inline = match[2];
    mapping[key] = inline === undefined ? readBelow(lines, indent, depth) : readInline(lines, indent, inline);
  }
  return mapping;
}

/** The value of a key that stands alone on its line. */
function readBelow(lines: Lines, indent: number, depth: number): unknown {
  const below = lines.indents[lines.next];
  if (below === undefined || below < indent) return null;
  const isItem = lines.contents[lines.next]?.startsWith('- ') === true;
  if (isItem) return readSequence(lines, below, indent, depth + 1);
  if (below === indent) return null;
  return readMapping(lines, below, depth + 1);
}

function readSequence(lines: Lines, indent: number, parent: number, depth: number): unknown[] {
  if (depth > maxDepth) throw notPlain;
  const items: unknown[] = [];
  while (lines.indents[lines.next] === indent) {
    const content = lines.contents[lines.next] ?? '';
    if (!content.startsWith('- ')) {
      if (indent === parent) break;
      throw notPlain;
    }
    const item = content.slice(2);
    if (keyLine.test(item)) {
      // The entry's first key stands where its others do: two columns further in.
      lines.indents[lines.next] = indent + 2;
      lines.contents[lines.next] = item;
      items.push(readMapping(lines, indent + 2, depth + 1));
    } else {
      lines.next += 1;
      items.push(readInline(lines, indent, item));
    }
  }
  return items;
}

function readInline(lines: Lines, indent: number, text: string): unknown {
  // A deeper line would go on with the scalar.
  const below = lines.indents[lines.next];
  if (below !== undefined && below > indent) throw notPlain;
  if (text === '[]') return [];
  if (text === '{}') return {};
  if (flowList.test(text)) return text.slice(1, -1).split(',').map(readFlowItem);
  return readScalar(text);
}

const flowList = /^\[[A-Za-z0-9_./@, "'-]+\]$/;
const doubleQuoted = /^"[^"\\]*"$/;
const singleQuoted = /^'[^']*'$/;
const plain =
  /^[A-Za-z0-9_/](?:[A-Za-z0-9_./@+(),;=%*?!~$^&<>|-]|:(?=[A-Za-z0-9_./@+-])| (?=[A-Za-z0-9_./@+(]))*$/;
const plainInFlow = /^[A-Za-z0-9_/][A-Za-z0-9_./@-]*$/;
const whole = /^(?:0|[1-9][0-9]{0,14})$/;
const maybeNumber = /^(?:0[oOxX][0-9a-fA-F]+|[0-9][0-9.eE_+-]*)$/;

function readScalar(text: string): string | number | boolean | null {
  if (doubleQuoted.test(text) || singleQuoted.test(text)) return ownText(text.slice(1, -1));
  if (!plain.test(text)) throw notPlain;
  return resolve(text);
}

function readFlowItem(text: string): string | number | boolean | null {
  const item = text.trim();
  if (doubleQuoted.test(item) || singleQuoted.test(item)) return ownText(item.slice(1, -1));
  if (!plainInFlow.test(item)) throw notPlain;
  return resolve(item);
}

function resolve(text: string): string | number | boolean | null {
  if (text === 'true') return true;
  if (text === 'false') return false;
  if (text === 'null') return null;
  if (whole.test(text)) return Number(text);
  if (maybeNumber.test(text) || wordsWithMeaning.test(text)) throw notPlain;
  return ownText(text);
}

const shared = new Map<string, string>();
const maxShared = 4_096;

/**
 * A copy, because V8 keeps the whole document in memory for a part of it; one for all where it is as short as the names
 * of models, namespaces and versions that thousands of documents repeat. Credentials are longer.
 */
function ownText(text: string): string {
  if (text.length > maxSharedLength) return Buffer.from(text, 'latin1').toString('latin1');
  const known = shared.get(text);
  if (known !== undefined) return known;
  const own = Buffer.from(text, 'latin1').toString('latin1');
  // Begun anew when full: what repeats does so in files near each other, and what does not must not fill it for good.
  if (shared.size >= maxShared) shared.clear();
  shared.set(own, own);
  return own;
}

const maxSharedLength = 25; // modelgateway.dev/v1alpha1
