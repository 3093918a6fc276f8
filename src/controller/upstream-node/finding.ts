import { connectionChanged, type LocalSync, localSync } from './due.ts';
import type { Gathered } from './gather.ts';
import { hasManualList, isDiscovering } from './models.ts';
import { isUnwatched } from './readiness.ts';
import { type Health, healthOfSync, judgeHealth, judgeSync, type SyncVerdict } from './verdict.ts';

/** What is new about a node since the last plan: the result of a contact, or a sync by the manual list. */
export interface Finding {
  readonly health: Health | undefined;
  readonly sync: SyncVerdict | undefined;
  readonly local: LocalSync;
  /** The connection changed, and no contact with the new one has ended. */
  readonly changed: boolean;
}

/** Judges what is new about a node since the last plan. */
export function finding(gathered: Gathered): Finding {
  const { contact, node, credentials } = gathered;
  const isResolved = credentials.state === 'Resolved';
  if (contact === undefined) {
    const local = isResolved ? localSync(gathered) : undefined;
    const changed = connectionChanged(gathered) && !isUnwatched(node);
    return { health: undefined, sync: undefined, local, changed };
  }
  const { answer } = contact;
  const sync = contact.kind === 'sync' ? judgeSync(answer, hasManualList(node)) : undefined;
  const health = sync === undefined ? judgeHealth(answer) : healthOfSync(answer, sync);
  // A check says nothing about models, so a sync that is due because of the change is still due.
  const changed = sync === undefined && isDiscovering(node) && connectionChanged(gathered);
  return { health, sync, local: undefined, changed };
}
