import { nearest } from '../../resources/nearest.ts';

const group = 'modelgateway.dev';
const kinds = ['UpstreamNode', 'APIKey', 'MasterKey'];
/** Fields of `spec` that a document of ours without apiVersion and kind would have. */
const tellingFields = ['baseURL', 'apiKeySecretRef', 'encryptedAPIKey', 'manualModels', 'callerNamespaces'];

/**
 * Whether a document is meant for another program: values of a chart, a kustomization, an object of another API whose kind
 * has the same name. False for an object of ours with a typing error.
 */
export function isNotMeantForUs(document: unknown): boolean {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return true;
  const { apiVersion, kind, spec } = document as Record<string, unknown>;
  if (typeof apiVersion === 'string' && apiVersion.includes('/')) {
    return nearest(apiVersion.split('/')[0] ?? '', [group]) === undefined;
  }
  if (kind === 'Secret') return apiVersion !== undefined && apiVersion !== 'v1';
  if (typeof kind === 'string') return nearest(kind, kinds) === undefined;
  if (apiVersion !== undefined) return true;
  return (
    typeof spec !== 'object' || spec === null || !tellingFields.some((field) => Object.hasOwn(spec, field))
  );
}

/** The Secret, as `namespace/name`, that an object of another API creates, such as a SealedSecret or ExternalSecret. */
export function secretMadeBy(document: unknown): string | undefined {
  if (typeof document !== 'object' || document === null) return undefined;
  const { kind, metadata, spec, sops } = document as Record<string, unknown>;
  const isSops = kind === 'Secret' && sops !== undefined;
  if (!isSops && kind !== 'SealedSecret' && kind !== 'ExternalSecret') return undefined;
  const { name, namespace = 'default' } = (metadata ?? {}) as Record<string, unknown>;
  const target = ((spec ?? {}) as { target?: { name?: unknown } }).target?.name;
  const known = target ?? name;
  return typeof known === 'string' && typeof namespace === 'string' ? `${namespace}/${known}` : undefined;
}
