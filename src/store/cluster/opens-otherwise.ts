import { isDeepStrictEqual } from 'node:util';
import type { ApiKey } from '../../resources/api-key.ts';
import { isSameGeneration } from '../../resources/is-same-generation.ts';
import type { MasterKey } from '../../resources/master-key.ts';

type Key = ApiKey | MasterKey;

/** Whether a change of a key is more than conditions in its status: what it opens, or for whom, may differ. */
export function opensOtherwise(before: Key | undefined, after: Key | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  return (
    !isSameGeneration(before.metadata, after.metadata) ||
    before.spec.enabled !== after.spec.enabled ||
    !isDeepStrictEqual(before.status?.hashes, after.status?.hashes)
  );
}
