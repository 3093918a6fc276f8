import type { KubeClient } from '../../kube/client.ts';
import { reflect } from '../../kube/reflect.ts';
import type { Kind } from '../../store/store.ts';
import { apiFailure } from './api-failure.ts';
import type { Declarations, Declared, Ref } from './declarations.ts';
import { declaredObject } from './declared-object.ts';

type Sink<K extends Kind> = Parameters<Declarations['watch']>[2] extends (change: infer _) => void
  ? (change: {
      readonly ref: Ref<K>;
      readonly before: Declared<K> | undefined;
      readonly after: Declared<K> | undefined;
    }) => void
  : never;

/** A watch of one kind as `Declarations.watch` describes it. */
export async function watchCluster<K extends Kind>(options: {
  client: KubeClient;
  kind: K;
  path: string;
  namespace: string | undefined;
  sink: Sink<K>;
  signal: AbortSignal;
  listed: (() => void) | undefined;
  faulty?: ((why: string) => void) | undefined;
}): Promise<void> {
  const { client, kind, path, namespace, sink, signal } = options;
  const known = new Map<string, Declared<K>>();
  const refused = new AbortController();
  let fault: unknown;
  let listed = options.listed;

  const tell = (id: string, after: Declared<K> | undefined) => {
    const before = known.get(id);
    if (before === after || isSame(before, after)) return;
    if (after === undefined) known.delete(id);
    else known.set(id, after);
    const [inNamespace = '', name = ''] = id.split('/');
    sink({ ref: { kind, namespace: inNamespace, name }, before, after });
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
        const all = new Map(declared.map((each) => [idOf(each), each]));
        for (const id of [...known.keys()]) if (!all.has(id)) tell(id, undefined);
        for (const [id, each] of all) tell(id, each);
        listed?.();
        listed = undefined;
      },
      set(object) {
        const declared = object as Declared<K> | undefined;
        if (declared !== undefined) tell(idOf(declared), declared);
      },
      remove(object) {
        const declared = object as Declared<K> | undefined;
        if (declared !== undefined) tell(idOf(declared), undefined);
      },
    },
    onRestart(reason, error) {
      if (reason === 'error' || reason === 'silence') {
        options.faulty?.(apiFailure(error, { verb: 'watch', kind, namespace }, client).message);
        return;
      }
      // To wait for a right that somebody may give some day would look like an empty list.
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
