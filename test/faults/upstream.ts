import type { Fault } from './fault.ts';
import { failsOver } from './network.ts';

export const upstreamFaults: readonly Fault[] = [
  {
    id: 'upstream-garbage',
    group: 'upstream',
    section: 'Failover',
    promise: 'bytes that are no HTTP: the next node answers',
    form: 'short',
    run: (scene) => failsOver(scene, { behaviour: { kind: 'raw', bytes: '\x00\x01\x02garbage\r\n\r\n' } }),
  },
  {
    id: 'upstream-endless-headers',
    group: 'upstream',
    section: 'Failover',
    promise: 'headers without end are cut off at a bound: the next node answers',
    form: 'short',
    run: (scene) => failsOver(scene, { behaviour: { kind: 'endlessHeaders' } }),
  },
];
