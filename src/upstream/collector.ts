import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What V8's own `gc` takes. */
interface Collection {
  readonly type: 'minor' | 'major';
  readonly execution?: 'sync';
  readonly flavor?: 'last-resort';
}

/** V8's `gc`, which a process has only when it was started for it; nobody else in the process gets it by this. */
export function collector(): (collection: Collection) => void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (collection: Collection) => void;
  setFlagsFromString('--no-expose-gc');
  return gc;
}
