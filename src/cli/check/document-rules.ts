import { problemLine } from '../../resources/problem.ts';
import type { CheckedObject } from './documents.ts';
import type { Finding } from './finding.ts';
import type { CheckedFolder } from './folder.ts';
import { objectFinding } from './object-finding.ts';

/** The rules for documents of every kind. */
export function documentFindings(folder: CheckedFolder): Finding[] {
  return [...schema(folder), ...duplicates(folder), ...serverFields(folder), ...clearSecrets(folder)];
}

function schema({ objects }: CheckedFolder): Finding[] {
  return objects.flatMap((object) =>
    object.problems.map((problem) => {
      const { path, remedy } = problem;
      const message = problemLine({ ...problem, path: '', remedy: '' }).replace(/; $/, '');
      return objectFinding('schema', object, path, message, remedy);
    }),
  );
}

function duplicates({ objects }: CheckedFolder): Finding[] {
  const first = new Map<string, CheckedObject>();
  const findings: Finding[] = [];
  for (const object of objects) {
    if (object.id === undefined) continue;
    const other = first.get(object.id);
    if (other === undefined) {
      first.set(object.id, object);
      continue;
    }
    const where = `${other.file}:${other.place('').line}`;
    const message = `${object.id} is declared in ${where} too`;
    findings.push(
      objectFinding('duplicate-name', object, 'metadata.name', message, 'remove or rename one of the two'),
    );
  }
  return findings;
}

/** Fields that only the API server writes. */
const serverFieldNames = [
  'status',
  'metadata.uid',
  'metadata.resourceVersion',
  'metadata.managedFields',
] as const;

function serverFields({ objects }: CheckedFolder): Finding[] {
  return objects.flatMap((object) => {
    const raw = object.raw();
    const found = serverFieldNames.filter((field) => valueAt(raw, field) !== undefined);
    return found.map((field) =>
      objectFinding(
        'server-field',
        object,
        field,
        'only the API server writes this field',
        'remove it from the manifest',
      ),
    );
  });
}

function valueAt(raw: unknown, field: string): unknown {
  return field
    .split('.')
    .reduce<unknown>(
      (value, part) =>
        typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[part] : undefined,
      raw,
    );
}

function clearSecrets({ objects }: CheckedFolder): Finding[] {
  return objects.flatMap((object) => {
    const { resource } = object;
    if (resource?.kind !== 'Secret' || Object.keys(resource.data).length === 0) return [];
    const raw = object.raw() as Record<string, unknown>;
    const field = raw['stringData'] === undefined ? 'data' : 'stringData';
    const message = `everybody who can read the file can read the Secret${field === 'data' ? ': base64 is not encryption' : ''}`;
    const remedy = 'keep it out of Git, or seal the credential with `model-gateway seal`';
    return [objectFinding('secret-in-clear', object, field, message, remedy)];
  });
}
