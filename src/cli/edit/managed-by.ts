import type { Kind } from '../../store/store.ts';
import { holdsField } from './field-tree.ts';
import { fieldManager, type Ownership } from './managed-fields.ts';

interface Marked {
  readonly kind: Kind;
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
}

/**
 * The tool that manages a resource, by the labels and annotations of Argo CD, Flux and Helm; else a field manager that
 * declares it by server-side apply; undefined for none. `app.kubernetes.io/instance` does not count: charts set it too.
 */
export function managedBy({ kind, metadata }: Marked, ownership: Ownership): string | undefined {
  const { labels = {}, annotations = {}, namespace, name } = metadata;
  // If the manifest was copied, the annotation names another resource, and Argo CD leaves this one alone.
  const [application, resource, place] = (annotations['argocd.argoproj.io/tracking-id'] ?? '').split(':');
  if (application && resource === `modelgateway.dev/${kind}` && place === `${namespace}/${name}`) {
    return `Argo CD application ${application}`;
  }
  for (const [tool, what] of [
    ['kustomize', 'Kustomization'],
    ['helm', 'HelmRelease'],
  ] as const) {
    const by = labels[`${tool}.toolkit.fluxcd.io/name`];
    if (by !== undefined) return `Flux ${what} ${labels[`${tool}.toolkit.fluxcd.io/namespace`] ?? ''}/${by}`;
  }
  const release = annotations['meta.helm.sh/release-name'];
  if (labels['app.kubernetes.io/managed-by'] === 'Helm' && release !== undefined) {
    return `Helm release ${annotations['meta.helm.sh/release-namespace'] ?? namespace}/${release}`;
  }
  return declaredBy(kind, ownership);
}

/** The manager that owns a required field of the kind. Managers of single models own other fields. */
function declaredBy(kind: Kind, { others }: Ownership): string | undefined {
  const fields = kind === 'UpstreamNode' ? ['f:baseURL'] : ['f:secretName', 'f:hash'];
  const owner = others.find(
    ({ name, isApply, fields: owned }) =>
      isApply && !isPerson(name) && fields.some((field) => holdsField(owned, ['f:spec', field])),
  );
  return owner === undefined ? undefined : `field manager ${owner.name}`;
}

function isPerson(manager: string): boolean {
  return manager === fieldManager || manager === 'kubectl' || manager.startsWith('kubectl-');
}
