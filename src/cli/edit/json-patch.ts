import { valueAt } from './apply-edits.ts';
import { differences } from './difference.ts';

export interface PatchStep {
  readonly op: 'add' | 'remove' | 'replace';
  readonly path: string;
  readonly value?: unknown;
}

/** The JSON patch (RFC 6902) that leads from one value to another. Lists are replaced whole. */
export function patchSteps(before: unknown, after: unknown): PatchStep[] {
  const steps = new Map<string, PatchStep>();
  for (const { path } of differences(before, after)) {
    const end = path.findIndex((step) => typeof step !== 'string');
    const members = path.slice(0, end === -1 ? undefined : end).filter((step) => typeof step === 'string');
    const pointer = members.map((name) => `/${escaped(name)}`).join('');
    const value = valueAt(after, members);
    const isNew = valueAt(before, members) === undefined;
    steps.set(
      pointer,
      value === undefined
        ? { op: 'remove', path: pointer }
        : { op: isNew ? 'add' : 'replace', path: pointer, value },
    );
  }
  return [...steps.values()];
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
