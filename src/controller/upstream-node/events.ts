import { conditionOf } from '../../resources/condition-of.ts';
import { nodeCondition } from '../../resources/node-condition.ts';
import type { UpstreamNode, UpstreamNodeStatus } from '../../resources/upstream-node.ts';
import type { ResourceEvent } from '../../store/store.ts';
import type { MergedModels } from './models.ts';

/** An Event of a node, without the reference to the node. */
export type NodeEvent = Omit<ResourceEvent, 'regarding'>;

const longestNote = 1_000;
const mostNames = 10;

/** The Events for a change of status: models that were added or removed, and the phase. */
export function nodeEvents(
  { status: before }: UpstreamNode,
  after: UpstreamNodeStatus,
  { added, removed }: MergedModels,
): NodeEvent[] {
  const events: NodeEvent[] = [];
  if (added.length > 0) {
    events.push({ type: 'Normal', reason: 'ModelAdded', action: 'SyncModels', note: listed('Added', added) });
  }
  if (removed.length > 0) {
    events.push({
      type: 'Normal',
      reason: 'ModelRemoved',
      action: 'SyncModels',
      note: listed('Removed', removed),
    });
  }
  if (after.modelsTruncated === true && before?.modelsTruncated !== true) {
    events.push({
      type: 'Warning',
      reason: 'ModelsTruncated',
      action: 'SyncModels',
      note: 'The node lists more models than are kept; the rest was left out.',
    });
  }
  const phase = phaseEvent(before, after);
  const listless = phase?.reason === 'NoModels' ? undefined : listlessEvent(before, after);
  return [...events, ...[listless, phase].filter((event) => event !== undefined)];
}

/** The Event for a node without a listing and without models. It stays idle, so no change of phase would report this. */
function listlessEvent(
  before: UpstreamNodeStatus | undefined,
  after: UpstreamNodeStatus,
): NodeEvent | undefined {
  const synced = conditionOf(after.conditions, 'ModelsSynced');
  if (synced?.status !== 'False' || synced.reason !== 'NoModels') return undefined;
  if (conditionOf(before?.conditions, 'ModelsSynced')?.message === synced.message) return undefined;
  return { type: 'Warning', reason: 'NoModels', action: 'SyncModels', note: shortened(synced.message) };
}

function phaseEvent(
  before: UpstreamNodeStatus | undefined,
  after: UpstreamNodeStatus,
): NodeEvent | undefined {
  const from = before?.phase;
  const to = after.phase;
  if (from === to || to === undefined || (from === undefined && to === 'idle')) return undefined;
  const reachable = conditionOf(after.conditions, 'Reachable');
  const condition = reachable?.status === 'False' ? reachable : nodeCondition(after.conditions);
  const action = 'CheckHealth';
  const change = from === undefined ? `The node is ${to}` : `The node went from ${from} to ${to}`;
  if (to === 'ready') {
    const reason = from === 'error' || from === 'offline' ? 'Recovered' : 'Healthy';
    return { type: 'Normal', reason, action, note: `${change}.` };
  }
  const reason = (condition?.reason ?? 'Failed') as NodeEvent['reason'];
  const note = shortened(`${change}: ${condition?.message ?? ''}`);
  return { type: to === 'idle' ? 'Normal' : 'Warning', reason, action, note };
}

function listed(verb: string, names: readonly string[]): string {
  const shown = names.slice(0, mostNames).map((name) => (name.length > 80 ? `${name.slice(0, 79)}…` : name));
  const rest = names.length - shown.length;
  const noun = names.length === 1 ? 'model' : 'models';
  return shortened(
    `${verb} ${names.length} ${noun}: ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}.`,
  );
}

/** Events hold at most 1 kB of note, counted in bytes. */
function shortened(text: string): string {
  if (Buffer.byteLength(text) <= longestNote) return text;
  let cut = text.slice(0, longestNote);
  while (Buffer.byteLength(cut) > longestNote - 3) cut = cut.slice(0, -1);
  return `${cut}…`;
}
