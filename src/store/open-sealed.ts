import { openSealedKey } from '../resources/sealed-key.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';
import type { Unsealed } from './credentials.ts';

/** Opens the sealed credential of a node with the first identity that fits. Never throws. */
export async function openSealed(node: UpstreamNode, identities: readonly string[]): Promise<Unsealed> {
  const { encryptedAPIKey, baseURL } = node.spec;
  const { namespace, name } = node.metadata;
  if (identities.length === 0) {
    return {
      reason: 'SealingKeyMissing',
      message: 'The Secret model-gateway-sealing with the sealing keys is missing or holds none; restore it.',
    };
  }
  try {
    const opened = await openSealedKey({ text: encryptedAPIKey ?? '', identities, namespace, name, baseURL });
    if ('apiKey' in opened) return opened;
    if (opened.refused === 'elsewhere') {
      return {
        reason: 'SealedKeyRefused',
        message: `spec.encryptedAPIKey was sealed for another ${opened.differs.join(' and ')}; seal the credential again for this node.`,
      };
    }
    return {
      reason: 'SealedKeyUnreadable',
      message:
        'spec.encryptedAPIKey is damaged or was sealed to another gateway; seal the credential again with the current recipient.',
    };
  } catch {
    return {
      reason: 'SealingKeyMissing',
      message: 'The Secret model-gateway-sealing holds no usable age identity; correct or restore it.',
    };
  }
}
