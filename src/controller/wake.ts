import type { Change, Kind, ResourceOf } from '../store/store.ts';
import type { ControllerStore } from './controller-store.ts';
import type { Queue, Urgency } from './queue.ts';
import { syncAnnotation } from './upstream-node/gather.ts';

export type Queues = { readonly [K in Kind]: Queue };

/**
 * Turns changes of the store into keys of the queues. The controller's own status writes come back as changes too: a
 * resource is only woken when somebody else can have changed it (operator-conventions §8).
 */
export function wakeOn(change: Change, queues: Queues, wakeSealing: () => void): void {
  switch (change.kind) {
    case 'UpstreamNode':
    case 'APIKey':
    case 'MasterKey':
      if (isForeign(change.before, change.after)) {
        queues[change.kind].add(`${change.namespace}/${change.name}`, 'Urgent');
      }
      return;
    case 'Credentials':
      queues.UpstreamNode.add(`${change.namespace}/${change.name}`, 'Urgent');
      return;
    case 'Sealing':
      wakeSealing();
      return;
    case 'Secret':
      return;
  }
}

/** Whether a change is more than a status write. */
function isForeign(before: ResourceOf[Kind] | undefined, after: ResourceOf[Kind] | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  const [old, now] = [before.metadata, after.metadata];
  return (
    old.uid !== now.uid ||
    old.generation !== now.generation ||
    old.deletionTimestamp !== now.deletionTimestamp ||
    old.annotations?.[syncAnnotation] !== now.annotations?.[syncAnnotation]
  );
}

const kinds: readonly Kind[] = ['UpstreamNode', 'APIKey', 'MasterKey'];

/** Puts every resource of the store in its queue. */
export function wakeAll(store: ControllerStore, queues: Queues, urgency: Urgency): void {
  for (const kind of kinds) {
    for (const { metadata } of store.list(kind)) {
      queues[kind].add(`${metadata.namespace}/${metadata.name}`, urgency);
    }
  }
}
