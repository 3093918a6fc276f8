import { type Document, isMap, isScalar, isSeq, type Pair, Scalar } from 'yaml';
import { isFlow, type Splice } from './yaml-source.ts';
import { behindColon, inFlow, type YamlStyle } from './yaml-style.ts';

/** What is known while one document is gone through. */
export interface Reading {
  readonly text: string;
  readonly document: Document;
  readonly style: YamlStyle;
  readonly lineBreak: string;
  /** Changes within a collection that stays one of its sort. Throws UnspliceableError. */
  readonly inside: (node: unknown, wanted: unknown) => Splice[];
}

/** Whether a node can become `wanted` by changes within it. */
export function canChangeInside(node: unknown, wanted: unknown): boolean {
  if (isMap(node)) return isMembers(wanted) && (isFlow(node) || Object.keys(wanted).length > 0);
  return isSeq(node) && Array.isArray(wanted) && (isFlow(node) || wanted.length > 0) && node.items.length > 0;
}

/** What a node says. */
export function jsOf({ document }: Reading, node: unknown): unknown {
  if (node === null || node === undefined) return null;
  return (node as { toJS(document: Document, options: object): unknown }).toJS(document, {
    maxAliasCount: 100,
  });
}

export function keyOf(pair: Pair): string {
  return scalarText(pair.key);
}

/** The text of a key or a value; '' where it is a map or a list. */
export function scalarText(node: unknown): string {
  const value: unknown = isScalar(node) ? node.value : node;
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** What tells the entries of a list apart: the name of a named one, kind and name of an object, else all of it. */
export function entryId(value: unknown): string {
  if (isMembers(value)) {
    const { name, kind, metadata } = value;
    if (typeof name === 'string') return `name ${name}`;
    if (isMembers(metadata))
      return `object ${JSON.stringify([kind, metadata['namespace'], metadata['name']])}`;
  }
  return `value ${JSON.stringify(value)}`;
}

/** The replacement of a scalar, or of what stands for one, on one line; undefined where it is not that simple. */
export function scalarSplice(
  reading: Reading,
  node: unknown,
  wanted: unknown,
  isInFlow: boolean,
): Splice | undefined {
  if (!isScalar(node) || !node.range || node.range[0] === node.range[1]) return undefined;
  if (node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED) return undefined;
  if (typeof wanted === 'object' && wanted !== null) return undefined;
  const { style } = reading;
  const like = node.type;
  const text = isInFlow || style.isJson ? inFlow(wanted, style, like) : behindColon(wanted, style, like);
  return text.includes('\n') ? undefined : { start: node.range[0], end: node.range[1], text };
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
