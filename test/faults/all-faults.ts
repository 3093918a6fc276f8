import type { Fault } from './fault.ts';
import { networkFaults } from './network.ts';
import { processFaults } from './process.ts';
import { upstreamFaults } from './upstream.ts';

/** Every fault, in the order of the table. */
export const allFaults: readonly Fault[] = [...processFaults, ...networkFaults, ...upstreamFaults];
