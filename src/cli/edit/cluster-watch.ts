import type { KubeClient } from '../../kube/client.ts';
import { reflect } from '../../kube/reflect.ts';
import type { Kind } from '../../store/store.ts';
import { apiFailure } from './api-failure.ts';
import { type Change, type Declared, refOf } from './declarations.ts';
import { declaredObject } from './declared-object.ts';

/** A watch of one kind as `Declarations.watch` describes it. */
export async function watchCluster<K extends Kind>(options: {
  client: KubeClient;
  kind: K;
  path: string;
  namespace: string | undefined;
  sink: (change: Change<K>) => void;
  signal: AbortSignal;
  listed: (() => void) | undefined;
  faulty?: ((why: string) => void) | undefined;
}): Promise<void> {
  const { client, kind, path, namespace, sink, signal } = options;
  const known = new Map<string, Declared<K>>();
  const refused = new AbortController();
  let fault: unknown;
  let listed = options.listed;

  const report = (declared: Declared<K>, after: Declared<K> | undefined) => {
    const id = idOf(declared);
    const before = known.get(id);
    if (before === after || isSame(before, after)) return;
    if (after === undefined) known.delete(id);
    else known.set(id, after);
    sink({ ref: refOf(declared), before, after });
  };

  await reflect({
    client,
    path,
    managedFields: true,
    slim: (object) => declaredObject(kind, object),
    signal: AbortSignal.any([signal, refused.signal]),
    sink: {
      replace(objects) {
        const declared = (objects as (Declared<K> | undefined)[]).filter((each) => each !== undefined);
        const found = new Set(declared.map(idOf));
        for (const [id, each] of [...known]) if (!found.has(id)) report(each, undefined);
        for (const each of declared) report(each, each);
        listed?.();
        listed = undefined;
      },
      set(object) {
        const declared = object as Declared<K> | undefined;
        if (declared !== undefined) report(declared, declared);
      },
      remove(object) {
        const declared = object as Declared<K> | undefined;
        if (declared !== undefined) report(declared, undefined);
      },
    },
    onRestart(reason, error) {
      if (reason === 'error' || reason === 'silence') {
        options.faulty?.(apiFailure(error, { verb: 'watch', kind, namespace }, client).message);
        return;
      }
      // To wait until somebody gives the permission would look like an empty list.
      if (reason !== 'forbidden' && reason !== 'unauthorized' && reason !== 'missing') return;
      fault = error;
      refused.abort();
    },
  });
  if (fault !== undefined && !signal.aborted) {
    throw apiFailure(fault, { verb: 'watch', kind, namespace }, client);
  }
}

function isSame(before: Declared | undefined, after: Declared | undefined): boolean {
  return (
    before !== undefined &&
    after !== undefined &&
    before.resource.metadata.uid === after.resource.metadata.uid &&
    before.resource.metadata.resourceVersion === after.resource.metadata.resourceVersion
  );
}

function idOf({ resource: { metadata } }: Declared): string {
  return `${metadata.namespace}/${metadata.name}`;
}
