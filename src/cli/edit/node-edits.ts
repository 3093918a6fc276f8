import { sealApiKey } from '../../resources/sealed-key.ts';
import { syncRequestAnnotation } from '../../resources/sync-request.ts';
import type { UpstreamNode } from '../../resources/upstream-node.ts';
import { DeclarationError, type Declarations, type Ref } from './declarations.ts';
import type { Edit } from './edit.ts';

/** Entries that `spec.models` can hold. */
const maxEntries = 2_000;

/**
 * Enables or disables models of a node; their other settings stay. If a model has that state without a setting, the setting
 * is removed, so that a model which was disabled and enabled again leaves no entry.
 * @throws DeclarationError `Invalid` if `spec.models` cannot hold as many; it names patterns to use instead
 */
export function modelEdits(
  { metadata, spec, status }: UpstreamNode,
  names: readonly string[],
  enabled: boolean,
): Edit[] {
  const entries = new Map(spec.models?.map((entry) => [entry.name, entry]));
  const manual = new Set(spec.manualModels);
  const started = new Map(
    status?.models
      ?.filter(({ source }) => source === 'Discovered')
      .map((model) => [model.name, model.startedEnabled ?? model.enabled]),
  );
  const startEnabled = spec.sync.newModels === 'Enabled';
  let count = entries.size;
  const edits = names.flatMap((name): Edit[] => {
    const entry = entries.get(name);
    // It must also start in that state if the node is declared again.
    const isSoAnyway = manual.has(name) ? enabled : started.get(name) === enabled && startEnabled === enabled;
    const path = ['spec', 'models', { name }];
    if (!isSoAnyway) {
      if (entry === undefined) count += 1;
      return [{ path: [...path, 'enabled'], value: enabled }];
    }
    if (entry?.enabled === undefined) return [];
    const { name: _, enabled: __, ...others } = entry;
    if (Object.keys(others).length > 0) return [{ path: [...path, 'enabled'], remove: true }];
    count -= 1;
    return [{ path, remove: true }];
  });
  if (count > maxEntries) throw tooManyEntries(metadata.name, count, enabled);
  return edits;
}

function tooManyEntries(name: string, count: number, enabled: boolean): DeclarationError {
  const remedy = enabled
    ? `To let all that the node lists start enabled, forget them and ask again: \`model-gateway node edit ${name} --new-models enabled --exclude-models '*'\`, then \`model-gateway node edit ${name} --exclude-models ''\`.`
    : `Leave models out by patterns instead, such as \`model-gateway node edit ${name} --exclude-models '*:free,*embed*'\` (spec.sync.models).`;
  const message = `spec.models would need ${count} entries, and holds ${maxEntries}. ${remedy}`;
  return new DeclarationError('Invalid', `Nothing was changed: ${message}`, [
    { field: 'spec.models', message },
  ]);
}

/** Asks the controller to sync a node's models now. `request` is any text that was not there before, such as the time. */
export function syncEdit(request: string): Edit {
  return { path: ['metadata', 'annotations', syncRequestAnnotation], value: request };
}

/** Removes the credential of a node, whatever its source is. */
export const clearedKeyEdits: readonly Edit[] = [
  { path: ['spec', 'encryptedAPIKey'], remove: true },
  { path: ['spec', 'apiKeySecretRef'], remove: true },
];

/**
 * Gives a node this credential, in place of any other. It is sealed here, for this node and the origin of `baseURL`, the
 * address that the node will have, so that only sealed text leaves the machine.
 * Throws DeclarationError: `Invalid` for a key or address that cannot be sealed. No message repeats the key.
 */
export async function sealedKeyEdits(
  declarations: Pick<Declarations, 'sealingRecipient'>,
  { namespace, name }: Ref<'UpstreamNode'>,
  baseURL: string,
  apiKey: string,
  signal: AbortSignal,
): Promise<Edit[]> {
  const recipient = await declarations.sealingRecipient(signal);
  try {
    const sealed = await sealApiKey({ recipient, namespace, name, baseURL, apiKey });
    return [
      { path: ['spec', 'apiKeySecretRef'], remove: true },
      { path: ['spec', 'encryptedAPIKey'], value: sealed },
    ];
  } catch (error) {
    const message = error instanceof Error ? error.message : 'it cannot be sealed';
    throw new DeclarationError('Invalid', `${message}.`, [{ field: 'spec.encryptedAPIKey', message }]);
  }
}
