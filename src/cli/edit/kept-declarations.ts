import { join } from 'node:path';
import { type FoundProblem, problemText } from '../../store/folder/manifest-problems.ts';
import { resourceId } from '../../store/folder/parse-manifest.ts';
import { specMark } from '../../store/folder/resource-record.ts';
import type { Kind } from '../../store/store.ts';
import type { Declared } from './declarations.ts';
import type { FolderData, LastGood } from './folder-data.ts';
import type { FolderContent } from './folder-index.ts';
import { recordedManifest } from './manifest-yaml.ts';

/**
 * The last good versions of objects whose file or document is not valid now, by `Kind/namespace/name`. The process keeps
 * them in force until the file is corrected. Only versions in the data folder are known.
 */
export async function keptDeclarations(
  { placed, problems }: FolderContent,
  data: FolderData,
  manifests: string,
): Promise<ReadonlyMap<string, Declared>> {
  const kept = new Map<string, Declared>();
  const files = new Map<string, FoundProblem>();
  const documents = new Map<string, FoundProblem>();
  for (const problem of problems) {
    if (problem.scope === 'file') files.set(problem.file, problem);
    else if (problem.object !== undefined && !documents.has(problem.object))
      documents.set(problem.object, problem);
  }
  for (const [id, problem] of documents) {
    // If a name is declared twice, the first declaration counts, and this problem may be of the second.
    const found = placed.get(id)?.resource === undefined ? await data.lastGood(id) : undefined;
    if (found !== undefined) kept.set(id, declaredKept(found, problem, manifests));
  }
  for (const found of files.size === 0 ? [] : await data.lastGoodOf(new Set(files.keys()))) {
    const id = resourceId(found.resource);
    const problem = files.get(found.file ?? '');
    const other = placed.get(id)?.file;
    // Of a name declared twice the first by path is in force, also while its file cannot be read.
    if (problem !== undefined && (other === undefined || problem.file < other))
      kept.set(id, declaredKept(found, problem, manifests));
  }
  return kept;
}

/** Ends a sentence that a resource was not found: it names a file that cannot be read, which may declare it. */
export function unreadRemark(problems: readonly FoundProblem[]): string {
  const [first, ...others] = problems.filter(({ scope }) => scope === 'file');
  if (first === undefined) return '.';
  const more = others.length === 0 ? '' : `; and ${others.length} more such files`;
  return `, as far as its files can be read. ${problemText(first)}${more}.`;
}

function declaredKept(
  { resource, file }: LastGood,
  problem: FoundProblem,
  manifests: string,
): Declared<Kind> {
  return {
    resource,
    version: `kept ${specMark(resource.spec)}`,
    source: join(manifests, file ?? problem.file),
    managedBy: undefined,
    kept: `the last good version is in force, because the manifest is not valid: ${problemText(problem)}`,
    manifest: recordedManifest(resource),
  };
}
