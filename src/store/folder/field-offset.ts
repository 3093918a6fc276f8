import { type Document, isMap, isScalar, isSeq, type Node } from 'yaml';

/** Takes `spec.models[2].name` or `metadata.labels["a/b"]` apart again. */
export function pathParts(path: string): (string | number)[] {
  return [...path.matchAll(/([A-Za-z_][\w-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)].map(
    ([, name, index, quoted]) => {
      if (index !== undefined) return Number(index);
      return name ?? (JSON.parse(quoted ?? '""') as string);
    },
  );
}

/** Where a field stands in the document's text: its key, or the nearest thing around it that exists. */
export function offsetOf(document: Document, path: readonly (string | number)[]): number {
  let node: unknown = document.contents;
  let offset = startOf(document.contents) ?? 0;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => (isScalar(key) ? key.value : key) === part);
      if (pair === undefined) break;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part];
      offset = startOf(node) ?? offset;
    } else {
      break;
    }
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}
