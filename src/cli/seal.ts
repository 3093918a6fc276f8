import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeClient } from '../kube/client.ts';
import { sealApiKey } from '../resources/sealed-key.ts';
import { recipientFile } from '../store/sealing.ts';
import { clusterRecipient } from './edit/cluster-recipient.ts';
import { DeclarationError } from './edit/declarations.ts';

/** Longest search for the recipient in a cluster. */
const longestMs = 30_000;

export interface SealRequest {
  /** The node's `metadata.name` and `spec.baseURL`: the sealed key opens for these alone. */
  readonly name: string | undefined;
  readonly baseURL: string | undefined;
  /** Default: the kubeconfig context's, else `default`. */
  readonly namespace: string | undefined;
  /** The recipient, or a data folder that holds it; if both are absent, it is read from the cluster. */
  readonly recipient: string | undefined;
  readonly data: string | undefined;
  readonly homeNamespace: string | undefined;
}

/** A credential cannot be sealed; the message says what is missing or wrong, and how to fix it. */
export class SealError extends Error {
  override readonly name = 'SealError';
}

/**
 * Encrypts a node's credential for its manifest and returns the lines to put under `spec`.
 * `readKey` asks for the credential; it is called after everything else was checked. Throws SealError.
 */
export async function seal(
  request: SealRequest,
  connect: () => Promise<KubeClient>,
  readKey: () => Promise<string>,
): Promise<string> {
  const { name, baseURL } = request;
  if (name === undefined) throw new SealError("--name is missing; give it the node's metadata.name.");
  if (baseURL === undefined) throw new SealError("--base-url is missing; give it the node's spec.baseURL.");
  const { recipient, namespace } = await findRecipient(request, connect);
  const apiKey = await readKey();
  const sealed = await sealApiKey({ recipient, namespace, name, baseURL, apiKey });
  return `encryptedAPIKey: |\n${sealed.trimEnd().replaceAll(/^/gm, '  ')}\n`;
}

async function findRecipient(
  request: SealRequest,
  connect: () => Promise<KubeClient>,
): Promise<{ recipient: string; namespace: string }> {
  const { recipient, data, homeNamespace, namespace } = request;
  if (recipient !== undefined && data !== undefined) {
    throw new SealError('--recipient and --data exclude each other; leave one of them out.');
  }
  if (recipient !== undefined) return { recipient, namespace: namespace ?? 'default' };
  if (data !== undefined) {
    const file = join(data, recipientFile);
    const text = await readFile(file, 'utf8').catch(() => {
      throw new SealError(
        `${file} cannot be read; start the gateway on this data folder once, which writes it.`,
      );
    });
    return { recipient: text.trim(), namespace: namespace ?? 'default' };
  }
  const client = await connect();
  try {
    const found = await clusterRecipient(client, homeNamespace, AbortSignal.timeout(longestMs));
    return { recipient: found, namespace: namespace ?? client.namespace() };
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error;
    throw new SealError(`${error.message} Or seal offline with --recipient.`);
  } finally {
    client.close();
  }
}
