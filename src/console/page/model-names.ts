import { useEffect, useState } from './htm-preact.js';
import { useLive } from './live-rows.ts';
import { ask } from './server.ts';

/** Names of models and aliases that callers may ask some node for, sorted; read again when nodes change. */
export function useModelNames(): readonly string[] {
  const { rows } = useLive();
  const [names, setNames] = useState<readonly string[]>([]);
  const nodes = [...rows.values()]
    .map((row) => (row.kind === 'UpstreamNode' ? `${row.name} ${row.generation} ${row.modelCount}` : ''))
    .join();
  useEffect(() => {
    ask<readonly string[]>('GET', '/api/models').then(setNames, () => {});
    return undefined;
  }, [nodes]);
  return names;
}
