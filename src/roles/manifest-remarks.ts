import type { Registry } from 'prom-client';
import { registerManifestMetric } from '../observe/manifest-metrics.ts';
import type { DirectoryStore } from '../store/folder/directory.ts';
import { problemText } from '../store/folder/manifest-problems.ts';

type Problems = Pick<DirectoryStore, 'manifestProblems' | 'manifestProblemCounts'>;

/** Most problems that `/readyz?verbose` lists. */
const mostListed = 20;

/** Registers the metric of manifests that are not in force. */
export function observeManifests(store: Problems, registry: Registry): void {
  registerManifestMetric(registry, () => store.manifestProblemCounts());
}

/** What `/readyz?verbose` says of the manifests: a line for each problem, none if everything is in force. */
export function manifestRemarks(store: Problems): readonly string[] {
  const problems = store.manifestProblems();
  const listed = problems
    .slice(0, mostListed)
    .map((problem) => `not in force since ${problem.since}: ${problemText(problem)}`);
  const more = problems.length - listed.length;
  return more > 0 ? [...listed, `and ${more} more problems of manifests`] : listed;
}
