import type { Resource } from './resource.ts';

type Metadata = Pick<Resource['metadata'], 'uid' | 'generation' | 'deletionTimestamp'>;

/** Whether these are states of one object whose spec was not written between them, and whose deletion did not begin. */
export function isSameGeneration(before: Metadata, after: Metadata): boolean {
  return (
    before.uid === after.uid &&
    before.generation === after.generation &&
    before.deletionTimestamp === after.deletionTimestamp
  );
}
