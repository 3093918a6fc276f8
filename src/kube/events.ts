import { randomBytes } from 'node:crypto';
import { ApiError } from './api-error.ts';
import type { KubeClient } from './client.ts';
import { type Clock, systemClock } from './clock.ts';
import { type Fold, foldRepeats, type ObjectReference } from './event-folding.ts';
import { microTime } from './micro-time.ts';
import { resourcePath } from './paths.ts';
import { createObject, mergePatch } from './verbs.ts';

export interface EventRecord {
  regarding: ObjectReference;
  /** A second object that is involved, for example the Secret that was written. */
  related?: ObjectReference | undefined;
  /** What was done, a CamelCase verb: `Sync`. At most 128 characters. */
  action: string;
  /** Why, or with which result, CamelCase: `ModelsSynced`. At most 128 characters. */
  reason: string;
  /** For people; cut off at 1 kB. Never a credential. */
  note: string;
  type: 'Normal' | 'Warning';
}

export interface EventRecorderOptions {
  client: KubeClient;
  /** The reporting controller, as a qualified name: `example.dev/controller`. */
  reportingController: string;
  /** The reporting instance: the pod's name. */
  reportingInstance: string;
  /** Nothing is sent after it aborts. */
  signal?: AbortSignal | undefined;
  clock?: Clock | undefined;
  /** Returns the unique, lower-case suffix of an Event's name. */
  newId?: (() => string) | undefined;
  /** An Event was discarded, because it could not be written or there were too many. */
  onError?: ((error: unknown) => void) | undefined;
}

export interface EventRecorder {
  /** Queues an Event to be written; never throws or waits. */
  record(event: EventRecord): void;
  /** Resolves when everything recorded so far was written or discarded. */
  drain(): Promise<void>;
}

const QUEUE = 1_000;
const NOTE_BYTES = 1024;
const WORD_LENGTH = 128;

/**
 * Writes Events (events.k8s.io/v1) one after another in the background. If the same reason and note about the same object are
 * repeated within ten minutes, the count in the first Event's `series` is raised, and no other Event is created.
 */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { client, clock = systemClock, newId = () => randomBytes(8).toString('hex') } = options;
  const folds = foldRepeats(clock);
  // A repetition of a queued Event only raises its count, so that many repetitions are one write.
  const queue = new Map<Fold, EventRecord & { at: Date }>();
  let working: Promise<void> | undefined;

  async function write(fold: Fold, event: EventRecord & { at: Date }) {
    const namespace = event.regarding.namespace ?? 'default';
    const address = { group: 'events.k8s.io', version: 'v1', plural: 'events', namespace };
    const call = { signal: options.signal };
    if (fold.eventName !== undefined) {
      const path = resourcePath({ ...address, name: fold.eventName });
      const series = { count: fold.count, lastObservedTime: microTime(event.at) };
      await mergePatch(client, path, { series }, call);
      return;
    }
    const name = `${event.regarding.name.slice(0, 253 - 17).replace(/[.-]+$/, '')}.${newId()}`;
    const { at, ...said } = event;
    const body = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { namespace, name },
      ...said,
      eventTime: microTime(at),
      reportingController: options.reportingController,
      reportingInstance: options.reportingInstance.slice(0, WORD_LENGTH),
      ...(fold.count > 1 ? { series: { count: fold.count, lastObservedTime: microTime(at) } } : {}),
    };
    await createObject(client, resourcePath(address), body, call);
    fold.eventName = name;
  }

  async function work() {
    for (const [fold, event] of queue) {
      queue.delete(fold);
      if (options.signal?.aborted) continue;
      try {
        await write(fold, event);
      } catch (error) {
        // Events expire after an hour or may be deleted: create a new one then.
        if (error instanceof ApiError && error.status === 404) fold.eventName = undefined;
        if (fold.eventName === undefined) folds.forget(fold);
        if (!options.signal?.aborted) options.onError?.(error);
      }
    }
    working = undefined;
  }

  return {
    record(event) {
      const note = cut(event.note, NOTE_BYTES);
      const said = {
        ...event,
        note,
        action: event.action.slice(0, WORD_LENGTH),
        reason: event.reason.slice(0, WORD_LENGTH),
      };
      const { uid, kind, namespace, name } = event.regarding;
      const fold = folds.add([uid ?? '', kind, namespace ?? '', name, said.type, said.reason, note]);
      if (queue.size >= QUEUE && !queue.has(fold)) {
        folds.forget(fold);
        options.onError?.(new Error(`more than ${QUEUE} events are waiting: one was dropped`));
        return;
      }
      queue.set(fold, { ...said, at: clock.wall() });
      working ??= Promise.resolve().then(work);
    },
    async drain() {
      while (working !== undefined) await working;
    },
  };
}

/** Cuts text to a number of UTF-8 bytes without cutting a character. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const kept = Buffer.from(text).subarray(0, bytes - 3);
  return `${new TextDecoder().decode(kept, { stream: true })}…`;
}
