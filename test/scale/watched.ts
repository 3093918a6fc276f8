import type { RoleProcess } from '../support/processes.ts';
import type { SetSize } from './population.ts';

/** A controller on one of the sets. */
export interface Watched {
  readonly size: SetSize;
  readonly process: RoleProcess;
  /** Nodes in a phase, as it tells them. */
  inPhase(phase: string): Promise<number>;
}
