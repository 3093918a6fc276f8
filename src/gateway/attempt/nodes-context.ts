import type { InternalErrors } from '../../observe/internal-errors.ts';
import type { Log } from '../../observe/log.ts';
import type { Router } from '../../routing/route.ts';
import type { View } from '../../store/store.ts';
import type { Pools } from '../../upstream/pools.ts';
import type { ConversionReports } from '../conversion/conversion-reports.ts';
import type { Limits } from '../limits.ts';
import type { LargeWork } from '../thread/large-work.ts';
import type { AttemptReports } from './attempt-reports.ts';
import type { Circuits } from './circuits.ts';
import type { NodeLoads } from './node-loads.ts';

/** What trying nodes needs of the gateway. */
export interface NodesContext {
  /** Whose keys are in force. */
  readonly view: View;
  readonly router: Router;
  readonly circuits: Circuits;
  /** The requests under way. */
  readonly loads: NodeLoads;
  readonly pools: Pools;
  readonly limits: Limits;
  readonly log: Log;
  readonly internalErrors: InternalErrors;
  /** Reports attempts. */
  readonly reports: AttemptReports;
  /** The same for requests that only count tokens. */
  readonly countReports: AttemptReports;
  /** Reports conversions. */
  readonly conversions: ConversionReports;
  /** Where large bodies and answers are converted. */
  readonly largeWork: LargeWork;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
}
