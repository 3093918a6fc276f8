import { conditionOf } from '../resources/condition-of.ts';
import { problemLine } from '../resources/problem.ts';
import type { Kind } from '../store/store.ts';
import type { Clock } from './clock.ts';
import { conditionList, type Observation } from './conditions.ts';
import type { ControllerStore } from './controller-store.ts';
import type { Reconcile } from './reconciler.ts';

/**
 * The reconcile of a kind, except for objects that do not parse: these get `Ready=False` and `Stalled=True` with the fields that
 * are wrong, once for each generation. The rest of their status stays, because it holds the hashes of keys.
 */
export function unlessInvalid(
  kind: Kind,
  { store, clock }: { store: ControllerStore; clock: Clock },
  reconcile: Reconcile,
): Reconcile {
  return async (id, context) => {
    const [namespace = '', name = ''] = id.split('/');
    const rejection = store.rejection?.(kind, namespace, name);
    if (rejection === undefined) return reconcile(id, context);
    const { metadata, conditions, problems } = rejection;
    const { generation = 0 } = metadata;
    const ready: Observation = {
      type: 'Ready',
      status: 'False',
      reason: 'InvalidSpec',
      message: `${problems.map(problemLine).join('. ')}.`,
    };
    const written = conditionOf(conditions, 'Ready');
    const isWritten = written?.reason === ready.reason && written.observedGeneration === generation;
    if (isWritten && conditionOf(conditions, 'Stalled')?.status === 'True') return {};
    const own = conditionList([ready], 'Stalled', conditions, generation, clock.now());
    const types = new Set(['Reconciling', ...own.map(({ type }) => type)]);
    const others = conditions.filter(({ type }) => !types.has(type));
    await store.writeConditions?.(rejection, [...own, ...others], context.signal);
    context.log.warn({ problems }, `${kind} does not parse; its status says so`);
    return {};
  };
}
