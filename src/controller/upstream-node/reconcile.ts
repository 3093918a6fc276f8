import type { Log } from '../../observe/log.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import type { NodeEntry } from '../../store/store.ts';
import type { Clock } from '../clock.ts';
import type { ControllerStore } from '../controller-store.ts';
import type { ControllerMetrics } from '../metrics.ts';
import type { Queue } from '../queue.ts';
import type { Reconcile } from '../reconciler.ts';
import type { AskNode } from './contact.ts';
import { type ContactLimits, Contacts } from './contacts.ts';
import type { DueContact } from './due.ts';
import { digest, type Gathered, gather } from './gather.ts';
import { type Contact, type ContactKind, freshMemory, type NodeMemory } from './memory.ts';
import { plan } from './plan.ts';
import { type Question, SharedContacts } from './shared-contacts.ts';
import { type Answer, judgeHealth } from './verdict.ts';

/** What the node controller works with. */
export interface NodeTools {
  readonly store: ControllerStore;
  readonly ask: AskNode;
  readonly metrics: ControllerMetrics;
  readonly clock: Clock;
  readonly log: Log;
  readonly queue: Queue;
  /** Closes the connections of a deleted node. */
  readonly release: (id: string) => void;
  /** Limits the contacts with upstreams. */
  readonly limits: ContactLimits;
  readonly signal: AbortSignal;
}

interface InFlight {
  readonly kind: ContactKind;
  readonly connectionKey: string;
  readonly abort: AbortController;
}

/** What this process keeps of one node. */
interface Tracked {
  readonly uid: string | undefined;
  memory: NodeMemory;
  ended: Contact | undefined;
  inFlight: InFlight | undefined;
}

/**
 * The reconcile of UpstreamNodes. It never waits for an upstream: contacts run outside the workers, with limits per host, per
 * namespace and in all, and a contact that ends adds its node to the queue again. So a hundred nodes that hang do not delay an
 * edit of another node.
 */
export function nodeReconcile(tools: NodeTools): Reconcile {
  const { store, clock, queue, metrics } = tools;
  const tracked = new Map<string, Tracked>();
  const contacts = new SharedContacts(new Contacts(tools.limits, metrics.contactsInFlight), clock.now);

  function forget(id: string): void {
    tracked.get(id)?.inFlight?.abort.abort();
    tracked.delete(id);
  }

  function track(entry: NodeEntry): Tracked {
    const { uid } = entry.resource.metadata;
    const known = tracked.get(entry.id);
    if (known !== undefined && known.uid === uid) return known;
    forget(entry.id);
    const fresh: Tracked = {
      uid,
      memory: freshMemory(clock.now()),
      ended: undefined,
      inFlight: undefined,
    };
    tracked.set(entry.id, fresh);
    return fresh;
  }

  function contact(own: Tracked, gathered: Gathered, { kind, urgency }: DueContact): void {
    const { id, node, credentials, connectionKey, syncRequest } = gathered;
    if (credentials.state !== 'Resolved') return;
    if (own.inFlight !== undefined) {
      const isSame = own.inFlight.connectionKey === connectionKey;
      if (isSame && (own.inFlight.kind === 'sync' || kind === 'check')) return;
      own.inFlight.abort.abort();
    }
    const abort = new AbortController();
    const inFlight: InFlight = { kind, connectionKey, abort };
    own.inFlight = inFlight;
    const signal = AbortSignal.any([tools.signal, abort.signal]);
    const { connection } = credentials;
    const { timeoutSeconds, intervalSeconds } = node.spec.healthCheck;
    const timeoutMs = timeoutSeconds * 1_000;
    const question: Question = {
      key: digest(JSON.stringify([kind, timeoutMs, connection])),
      ...{ kind, urgency },
      place: { namespace: node.metadata.namespace, host: new URL(connection.baseURL).host },
      freshMs: intervalSeconds * 1_000 * freshShare,
    };
    const ask = async (shared: AbortSignal): Promise<Answer | undefined> => {
      const answer = await asked(tools, id, kind, connection, timeoutMs, shared);
      if (answer !== undefined) metrics.contacted(kind, judgeHealth(answer).state === 'Good');
      return answer;
    };
    void contacts.ask(question, signal, ask).then((answered) => {
      if (own.inFlight !== inFlight) return;
      own.inFlight = undefined;
      if (answered !== undefined) own.ended = { kind, ...answered, connectionKey, syncRequest };
      if (!signal.aborted) queue.add(id, 'Urgent');
    });
  }

  return async (id, { signal, debug }) => {
    const [namespace = '', name = ''] = id.split('/');
    const entry = store.node(namespace, name);
    if (entry === undefined) {
      forget(id);
      tools.release(id);
      return {};
    }
    const own = track(entry);
    const { ended } = own;
    const gathered = gather(entry, own.memory, ended, clock.now());
    const decided = plan(gathered);
    if (decided.status !== undefined) {
      await store.writeStatus('UpstreamNode', entry.resource, decided.status, signal);
      debug({ phase: decided.status.phase }, 'Updated status of UpstreamNode');
    }
    own.memory = decided.memory;
    if (own.ended === ended) own.ended = undefined;
    for (const event of decided.events) store.recordEvent({ ...event, regarding: regarding(entry.resource) });
    if (decided.contact !== undefined) {
      const { kind, cause } = decided.contact;
      debug({ kind, cause }, 'Contacting UpstreamNode');
      contact(own, gathered, decided.contact);
    }
    if (decided.nextDueMs === undefined) return {};
    const wakeMs = Math.ceil(decided.nextDueMs / togetherMs) * togetherMs;
    return { requeueAfterMs: Math.max(wakeMs - clock.now(), shortestWaitMs) };
  };
}

/** The node's answer; undefined if the contact was cancelled. Our own errors count as failures of the node; otherwise they would be retried without a pause. */
async function asked(
  { ask, log }: NodeTools,
  ...[id, kind, connection, timeoutMs, signal]: Parameters<AskNode>
): Promise<Answer | undefined> {
  try {
    return await ask(id, kind, connection, timeoutMs, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    log.error({ err: error, node: id }, 'Contact with UpstreamNode failed');
    const message =
      'the controller could not contact the node because of an internal error; its log says which';
    return { kind: 'failed', error: { code: 'protocol', message } };
  }
}

/** A node takes over the answer to another node's check if it is younger than this share of its own check interval. */
const freshShare = 0.25;

/**
 * Nodes that are due within the same second are reconciled together at its end. Reconciling a thousand nodes one by one, one
 * each 60 ms, took 1.5 times the CPU time, because the processor's caches were cold.
 */
const togetherMs = 1_000;
/** The shortest wait, so that an overdue schedule does not become a loop without a pause. */
const shortestWaitMs = 50;

function regarding({ metadata }: UpstreamNode) {
  const { namespace, name, uid = '' } = metadata;
  return { kind: 'UpstreamNode', namespace, name, uid } as const;
}
