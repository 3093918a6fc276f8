import { compileGlob } from '../../resources/glob.ts';
import type { UpstreamNodeSpec } from '../../resources/upstream-node.ts';

/** `spec.sync.models`: which of the models that a node lists exist here. */
export type ModelPatterns = UpstreamNodeSpec['sync']['models'];

/** Whether a discovered model exists: a pattern of `include` matches (absent or empty: any name), and none of `exclude`. */
export function modelFilter(patterns: ModelPatterns): (name: string) => boolean {
  if (patterns === undefined) return () => true;
  const include = (patterns.include ?? []).map(compileGlob);
  const exclude = (patterns.exclude ?? []).map(compileGlob);
  return (name) =>
    (include.length === 0 || include.some((fits) => fits(name))) && !exclude.some((fits) => fits(name));
}

/** Whether `after` certainly admits no model that `before` did not: then no sync is needed. */
export function isNarrower(before: ModelPatterns, after: ModelPatterns): boolean {
  const [was, is] = [before?.include ?? [], after?.include ?? []];
  const includesLess = was.length === 0 || (is.length > 0 && is.every((pattern) => was.includes(pattern)));
  return includesLess && (before?.exclude ?? []).every((pattern) => after?.exclude?.includes(pattern));
}
