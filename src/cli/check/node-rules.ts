import { isSealedText } from '../../resources/sealed-key.ts';
import { secretValue } from '../../resources/secret.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { servedNames } from '../../store/node-models.ts';
import type { Finding } from './finding.ts';
import type { CheckedFolder, CheckedResource } from './folder.ts';
import { objectFinding } from './object-finding.ts';

/** Rules about nodes. */
export function nodeFindings(folder: CheckedFolder): Finding[] {
  return folder.nodes.flatMap((node) => [
    ...sealed(node),
    ...secretReferences(folder, node),
    ...aliases(node),
    ...wishes(node),
    ...unusedNamespaces(folder, node),
  ]);
}

function sealed({ resource, object }: CheckedResource<UpstreamNode>): Finding[] {
  const { encryptedAPIKey } = resource.spec;
  if (encryptedAPIKey === undefined || isSealedText(encryptedAPIKey)) return [];
  const message = 'is damaged: it is not a complete age text';
  const remedy = 'paste the whole output of `model-gateway seal`, from the BEGIN to the END line';
  return [objectFinding('sealed-key', object, 'spec.encryptedAPIKey', message, remedy)];
}

function secretReferences(
  folder: CheckedFolder,
  { resource, object }: CheckedResource<UpstreamNode>,
): Finding[] {
  const { spec, metadata } = resource;
  const references = [
    ...(spec.apiKeySecretRef === undefined
      ? []
      : [{ ...spec.apiKeySecretRef, field: 'spec.apiKeySecretRef' }]),
    ...(spec.headers ?? []).flatMap(({ secretRef }, index) =>
      secretRef === undefined ? [] : [{ ...secretRef, field: `spec.headers[${index}].secretRef` }],
    ),
  ];
  return references.flatMap(({ name, key, field }) => {
    const id = `${metadata.namespace}/${name}`;
    const secret = folder.secrets.get(id);
    if (secret === undefined) {
      if (folder.madeSecrets.has(id)) return [];
      const message = `the Secret "${id}" is not in the folder`;
      const remedy = `make sure that it exists in the cluster with the entry "${key}"`;
      return [objectFinding('secret-not-in-folder', object, `${field}.name`, message, remedy)];
    }
    if (secretValue(secret, key) !== undefined) return [];
    const message = `the Secret "${id}" has no entry "${key}", or an empty one`;
    return [
      objectFinding('secret-entry-missing', object, `${field}.key`, message, 'add it, or name another entry'),
    ];
  });
}

function aliases({ resource, object }: CheckedResource<UpstreamNode>): Finding[] {
  const { models = [], manualModels = [] } = resource.spec;
  const real = new Set([...manualModels, ...models.map(({ name }) => name)]);
  return models.flatMap(({ name, aliases: wished = [] }, index) =>
    wished.flatMap((alias, at) => {
      if (!real.has(alias)) return [];
      const field = `spec.models[${index}].aliases[${at}]`;
      const message = `the alias "${alias}" of "${name}" is shadowed by the model "${alias}" of the same node`;
      return [
        objectFinding('alias-conflict', object, field, message, 'remove the alias, or choose another one'),
      ];
    }),
  );
}

/** Without discovery a node serves only its manual list, so other entries of `spec.models` have no effect. */
function wishes({ resource, object }: CheckedResource<UpstreamNode>): Finding[] {
  const { spec } = resource;
  if (spec.sync.discovery !== 'Never') return [];
  const findings = (spec.models ?? []).flatMap(({ name }, index) => {
    if (spec.manualModels?.includes(name) === true) return [];
    const message = `no request reaches "${name}": discovery is Never, and spec.manualModels does not name it`;
    const remedy = 'add it to spec.manualModels, or remove the entry';
    return [objectFinding('model-unserved', object, `spec.models[${index}].name`, message, remedy)];
  });
  if (servedNames(resource).size > 0) return findings;
  const message = 'the node serves nothing: discovery is Never, and there are no spec.manualModels';
  return [
    ...findings,
    objectFinding(
      'model-unserved',
      object,
      'spec.sync.discovery',
      message,
      'list its models in spec.manualModels',
    ),
  ];
}

function unusedNamespaces(
  folder: CheckedFolder,
  { resource, object }: CheckedResource<UpstreamNode>,
): Finding[] {
  // If the folder has no keys, they are declared elsewhere, in namespaces that are not known here.
  if (folder.keys.length === 0) return [];
  return (resource.spec.callerNamespaces.names ?? []).flatMap((name, index) => {
    if (folder.namespaces.has(name)) return [];
    const field = `spec.callerNamespaces.names[${index}]`;
    const message = `nothing in the folder is in namespace "${name}"`;
    return [
      objectFinding('caller-namespace-unused', object, field, message, 'correct the name, or remove it'),
    ];
  });
}
