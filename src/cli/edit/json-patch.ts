import { isDeepStrictEqual } from 'node:util';

export interface PatchStep {
  readonly op: 'add' | 'remove' | 'replace';
  readonly path: string;
  readonly value?: unknown;
}

/** The JSON patch (RFC 6902) that makes one value of another. Lists are replaced whole. */
export function patchSteps(before: unknown, after: unknown, path = ''): PatchStep[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isMembers(before) || !isMembers(after)) return [{ op: 'replace', path, value: after }];
  const at = (name: string) => `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  return [
    ...gone.map((name): PatchStep => ({ op: 'remove', path: at(name) })),
    ...Object.entries(after).flatMap(([name, value]): PatchStep[] =>
      Object.hasOwn(before, name)
        ? patchSteps(before[name], value, at(name))
        : [{ op: 'add', path: at(name), value }],
    ),
  ];
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
