import { type Document, isMap, isScalar, isSeq, Scalar, type ToStringOptions, visit } from 'yaml';

/** The options with which the `yaml` library prints a document most like its text. */
export function styleOf(document: Document, text: string): ToStringOptions {
  let indent: number | undefined;
  let indentSeq: boolean | undefined;
  const columnOf = (offset: number) => offset - (text.lastIndexOf('\n', offset - 1) + 1);
  visit(document, {
    Pair(_, { key, value }) {
      if (!isScalar(key) || !key.range || !(isMap(value) || isSeq(value))) return;
      if (value.flow === true || !value.range) return;
      const step = columnOf(value.range[0]) - columnOf(key.range[0]);
      if (isSeq(value)) indentSeq ??= step > 0;
      else if (step > 0) indent ??= step;
    },
  });
  const root = document.contents;
  const [first] = isMap(root) && root.flow === true ? root.items : [];
  const isJson = isScalar(first?.key) && first.key.type === Scalar.QUOTE_DOUBLE;
  return {
    lineWidth: 0,
    indent: indent ?? 2,
    indentSeq: indentSeq ?? true,
    flowCollectionPadding: count(text, /[{[] +\S/g) >= count(text, /[{[][^\s{}[\]]/g),
    ...(isJson ? { defaultStringType: Scalar.QUOTE_DOUBLE, defaultKeyType: Scalar.QUOTE_DOUBLE } : {}),
  };
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
