import { isEndpoint } from '../../routing/caller-format.ts';
import type { NodeEntry } from '../../store/store.ts';
import type { ModelRequest } from '../admission/model-request.ts';
import type { Caller, CallerListener } from '../answer/caller.ts';
import type { NodeLoads, Place } from './node-loads.ts';

/** How long a request may wait at these nodes, in milliseconds: as long as the most patient of them says. */
export function patienceOf(nodes: readonly NodeEntry[]): number {
  return (
    1000 * Math.max(...nodes.map(({ resource }) => resource.spec.concurrency?.queue.timeoutSeconds ?? 0))
  );
}

/**
 * Waits until one of these full nodes has a place for the request, for `milliseconds` at most. Resolves with the place, which must be
 * left; 'again' if the nodes have changed; 'refused' if the queues have no room for the key or the time is over; 'gone' if
 * the caller left. A stream gets keep-alives.
 */
export function waitForPlace(
  loads: NodeLoads,
  caller: Caller,
  { key, format }: Pick<ModelRequest, 'key' | 'format'>,
  nodes: readonly NodeEntry[],
  milliseconds: number,
): Promise<Place | 'again' | 'refused' | 'gone'> {
  const { metadata, spec, kind } = key.resource;
  return new Promise((resolve) => {
    const end = (result: Place | 'again' | 'refused' | 'gone'): void => {
      clearTimeout(timer);
      leave?.();
      if (caller.listener === listener) caller.listener = undefined;
      resolve(result);
    };
    const leave = loads.wait(nodes, {
      key: `${metadata.namespace}/${metadata.name}`,
      priority: kind === 'APIKey' ? spec.priority : 'Normal',
      settle: end,
    });
    const listener: CallerListener = {
      gone: () => end('gone'),
      drained: () => {},
      silent: () => {
        // Whether an endpoint answers with events is not known before the node's head.
        if (caller.started !== 'nothing' || !isEndpoint(format)) caller.keepAlive();
      },
      failed: (error) => {
        caller.caught('answer', error);
        end('gone');
        caller.break();
      },
    };
    const timer = leave === undefined ? undefined : setTimeout(() => end('refused'), milliseconds);
    if (leave === undefined) return resolve('refused');
    caller.listener = listener;
  });
}
