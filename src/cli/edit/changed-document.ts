import { isDeepStrictEqual } from 'node:util';
import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  Scalar,
  visit,
} from 'yaml';
import { isObject } from '../../resources/is-object.ts';

/** Removes all comments and blank lines, except within brackets, where the library prints them in their place. */
export function dropComments(document: Document): void {
  document.commentBefore = null;
  document.comment = null;
  visit(document, {
    Node(_, node) {
      node.commentBefore = null;
      node.comment = null;
      node.spaceBefore = false;
      return isCollection(node) && node.flow === true ? visit.SKIP : undefined;
    },
  });
}

/** Changes a document so that its value is `wanted`. A part with the right value stays the same node. */
export function changeDocument(document: Document, wanted: unknown): void {
  document.contents = changed(document, document.contents, wanted, undefined) as typeof document.contents;
}

/** @param like how other strings of the list are quoted */
function changed(document: Document, node: unknown, wanted: unknown, like: Scalar.Type | undefined): Node {
  if (isNode(node) && isDeepStrictEqual(saidBy(document, node), wanted)) return node;
  if (isMap(node) && isObject(wanted)) {
    const kept = (node.items as Pair[]).filter(({ key }) => Object.hasOwn(wanted, scalarText(key)));
    for (const pair of kept)
      pair.value = changed(document, pair.value, wanted[scalarText(pair.key)], undefined);
    const old = new Set(kept.map(({ key }) => scalarText(key)));
    const added = Object.keys(wanted).filter((key) => !old.has(key));
    node.items = [...kept, ...added.map((key) => document.createPair(key, wanted[key]))];
    return node;
  }
  if (isSeq(node) && Array.isArray(wanted)) {
    const old = Map.groupBy(node.items, (item) => entryId(saidBy(document, item)));
    const quoted = node.items.find((item): item is Scalar => isScalar(item))?.type;
    node.items = wanted.map((value) => changed(document, old.get(entryId(value))?.shift(), value, quoted));
    return node;
  }
  const isSimple = typeof wanted !== 'object' || wanted === null;
  if (isScalar(node) && isSimple && (node.tag === undefined || typeof wanted === 'string')) {
    node.value = wanted;
    // The library decides whether it needs a block of lines.
    if (node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED) delete node.type;
    return node;
  }
  const created = document.createNode(wanted);
  if (isScalar(created) && typeof wanted === 'string' && isQuoted(like)) created.type = like;
  return created;
}

function isQuoted(type: Scalar.Type | undefined): type is 'QUOTE_DOUBLE' | 'QUOTE_SINGLE' {
  return type === Scalar.QUOTE_DOUBLE || type === Scalar.QUOTE_SINGLE;
}

/** Identifies an entry of a list: by its name, by kind and name of an object, or else by its whole value. */
function entryId(value: unknown): string {
  if (isObject(value)) {
    const { name, kind, metadata } = value;
    if (typeof name === 'string') return `name ${name}`;
    if (isObject(metadata))
      return `object ${JSON.stringify([kind, metadata['namespace'], metadata['name']])}`;
  }
  return `value ${JSON.stringify(value)}`;
}

/** The text of a key or a value; '' if it is a map or a list. */
export function scalarText(node: unknown): string {
  const value: unknown = isScalar(node) ? node.value : node;
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

function saidBy(document: Document, node: unknown): unknown {
  return isNode(node) ? node.toJS(document, { maxAliasCount: 100 }) : (node ?? null);
}
