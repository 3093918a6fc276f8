import { apiServerFaults } from './api-server.ts';
import { callerFaults } from './callers.ts';
import { clusterPeopleFaults } from './cluster-people.ts';
import { clusterProofs } from './cluster-proofs.ts';
import { diskFaults } from './disks.ts';
import type { Fault } from './fault.ts';
import { listingFaults } from './listings.ts';
import { manifestFaults } from './manifests.ts';
import { nameFaults } from './names.ts';
import { networkFaults } from './network.ts';
import { peopleFaults } from './people.ts';
import { processFaults } from './process.ts';
import { tlsFaults } from './tls.ts';
import { upstreamFaults } from './upstream.ts';

/** Every fault, in the order of the table. */
export const allFaults: readonly Fault[] = [
  ...processFaults,
  ...diskFaults,
  ...networkFaults,
  ...nameFaults,
  ...tlsFaults,
  ...upstreamFaults,
  ...listingFaults,
  ...apiServerFaults,
  ...clusterProofs,
  ...manifestFaults,
  ...peopleFaults,
  ...clusterPeopleFaults,
  ...callerFaults,
];
