import { sealApiKey } from '../../resources/sealed-key.ts';
import { syncRequestAnnotation } from '../../resources/sync-request.ts';
import { DeclarationError, type Declarations, type Ref } from './declarations.ts';
import type { Edit } from './edit.ts';

/** Lets callers use these models of a node, or not; the other wishes for them stay. */
export function modelEdits(names: readonly string[], enabled: boolean): Edit[] {
  return names.map((name) => ({ path: ['spec', 'models', { name }, 'enabled'], value: enabled }));
}

/** Asks the controller to sync a node's models now. `request` is any text that was not there before, such as the time. */
export function syncEdit(request: string): Edit {
  return { path: ['metadata', 'annotations', syncRequestAnnotation], value: request };
}

/** Leaves a node without a credential, wherever it came from. To keep the current one, make no edit. */
export const clearedKeyEdits: readonly Edit[] = [
  { path: ['spec', 'encryptedAPIKey'], remove: true },
  { path: ['spec', 'apiKeySecretRef'], remove: true },
];

/**
 * Gives a node this credential, in place of any other. It is sealed here, for this node and the origin of `baseURL` (the
 * one that the node will have), so that only sealed text leaves the machine.
 * Throws DeclarationError: `Invalid` for a key or address that cannot be sealed; none repeats the key.
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
