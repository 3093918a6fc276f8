import { type Document, isMap, isScalar, isSeq, Scalar, stringify, visit } from 'yaml';
import { isFlow } from './yaml-source.ts';

/** How a document writes things, for what is added to it. */
export interface YamlStyle {
  /** Columns that a level is indented by. */
  readonly indent: number;
  /** Whether the dashes of a list stand further in than the key above them. */
  readonly indentSeq: boolean;
  /** Whether everything is written as JSON has it. */
  readonly isJson: boolean;
  /** Whether text of several lines goes into quotes rather than into a block, which blanks below would become part of. */
  readonly isCareful: boolean;
}

/** Reads the style off the first things that show it; else two columns, and dashes further in. */
export function styleOf(document: Document, text: string, isCareful: boolean): YamlStyle {
  let indent: number | undefined;
  let indentSeq: boolean | undefined;
  const columnOf = (offset: number) => offset - (text.lastIndexOf('\n', offset - 1) + 1);
  visit(document, {
    Pair(_, pair) {
      const { key, value } = pair;
      if (!isScalar(key) || !key.range || isFlow(value)) return;
      if (isMap(value) && value.range) {
        const step = columnOf(value.range[0]) - columnOf(key.range[0]);
        if (step > 0) indent ??= step;
      } else if (isSeq(value) && value.range) {
        indentSeq ??= columnOf(value.range[0]) > columnOf(key.range[0]);
      }
    },
  });
  const root = document.contents;
  const [first] = isMap(root) && isFlow(root) ? root.items : [];
  const isJson = isScalar(first?.key) && first.key.type === Scalar.QUOTE_DOUBLE;
  return { indent: indent ?? 2, indentSeq: indentSeq ?? true, isJson, isCareful };
}

/** A value on one line, as it may stand inside brackets; strings quoted as `like` is. */
export function inFlow(value: unknown, style: YamlStyle, like?: Scalar.Type): string {
  if (style.isJson) return JSON.stringify(value);
  const text = stringify([value], {
    ...options(style, like),
    collectionStyle: 'flow',
    flowCollectionPadding: false,
  });
  return text.trim().slice(1, -1);
}

/** A value as it stands behind a colon of a block mapping: one line, or several of which the first is `|` or empty. */
export function behindColon(value: unknown, style: YamlStyle, like?: Scalar.Type): string {
  return stringify({ k: value }, options(style, like))
    .replace(/\n$/, '')
    .slice('k:'.length)
    .replace(/^ /, '');
}

/** A member of a block mapping, without the indentation of its lines. */
export function member(key: string, value: unknown, style: YamlStyle): string {
  return stringify({ [key]: value }, options(style)).replace(/\n$/, '');
}

/** An entry of a block sequence, dash and all, without the indentation of its lines. */
export function entry(value: unknown, style: YamlStyle, like?: Scalar.Type): string {
  return stringify([value], options(style, like)).replace(/\n$/, '');
}

function options({ indent, indentSeq, isCareful }: YamlStyle, like?: Scalar.Type) {
  const isQuoted = like === Scalar.QUOTE_DOUBLE || like === Scalar.QUOTE_SINGLE;
  return {
    lineWidth: 0,
    indent,
    indentSeq,
    blockQuote: isCareful ? false : ('literal' as const),
    // kubectl reads YAML 1.1, to which `on` and `1:30` are no strings.
    compat: 'yaml-1.1',
    ...(isQuoted ? ({ defaultStringType: like, defaultKeyType: Scalar.PLAIN } as const) : {}),
  } as const;
}
