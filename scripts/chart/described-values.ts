import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml';

/** One value of the chart, as values.yaml tells of it. */
export interface DescribedValue {
  /** Such as `gateway.service.port`. */
  readonly path: string;
  /** The comment above it; empty where there is none. */
  readonly text: string;
  /** The default as JSON; absent for a group, whose members follow. */
  readonly default?: string;
}

/** Every value of a values.yaml in its order, with the comment above it. An empty map is a value, a full one a group. */
export function describedValues(yaml: string): DescribedValue[] {
  const document = parseDocument(yaml);
  const [problem] = document.errors;
  if (problem !== undefined) throw problem;
  return isMap(document.contents) ? membersOf(document.contents, '') : [];
}

function membersOf(map: YAMLMap, above: string): DescribedValue[] {
  return map.items.flatMap(({ key, value }, index) => {
    if (!isScalar(key)) throw new Error(`A key that is no word below ${above}`);
    const path = above === '' ? String(key.value) : `${above}.${String(key.value)}`;
    // The parser gives the comment above a map's first key to the map.
    const text = commentText(key.commentBefore ?? (index === 0 ? map.commentBefore : undefined));
    if (isMap(value) && value.items.length > 0 && !isHandedOn(path))
      return [{ path, text }, ...membersOf(value, path)];
    return [{ path, text, default: JSON.stringify(value ?? null) }];
  });
}

/** Maps that are one value, although they have members: parts of Kubernetes objects and sets of labels. */
function isHandedOn(path: string): boolean {
  return /(^|\.)(resources|podSecurityContext|securityContext|startupProbe|livenessProbe|readinessProbe|labels)$/.test(
    path,
  );
}

/** The paragraph that stands right above the key. */
function commentText(comment: string | null | undefined): string {
  const paragraphs = (comment ?? '').split(/\n\s*\n/);
  return (paragraphs.at(-1) ?? '')
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .trim();
}
