import type { Log } from '../observe/log.ts';
import { generateSealingIdentity, sealingRecipient } from '../resources/sealed-key.ts';
import type { Secret } from '../resources/secret.ts';
import { sealingIdentitiesOf, sealingSecretName } from '../store/sealing.ts';
import type { ControllerStore } from './controller-store.ts';
import type { Reconcile } from './reconciler.ts';
import { TerminalError } from './terminal-error.ts';

/** How often the published key is checked. No watch reports that somebody changed it, and people would seal to a wrong key. */
const republishMs = 10 * 60_000;

/**
 * The reconcile of the sealing pair. It creates the Secret with an age identity if there is none; an existing Secret is kept, even
 * one that a person made. A deleted Secret is created again with the identities that this process holds. The recipient of
 * the newest identity is published, and lines that are no identity are logged. A Secret without an identity is not
 * changed, because a new identity would not open the credentials that were sealed before.
 */
export function sealingReconcile(store: ControllerStore): Reconcile {
  return async (id, { signal, log }) => {
    const [namespace = '', name = sealingSecretName] = id.split('/');
    let secret = await store.readSecret(namespace, name, signal);
    if (secret === undefined) {
      const held = store.sealingIdentities();
      const identities = held.length > 0 ? held : [await generateSealingIdentity()];
      secret = await store.createSecret(newSecret(namespace, name, identities), signal);
      if (held.length > 0)
        log.warn('The Secret with the sealing identities was deleted; created it again with them');
      else log.info('Created Secret with the sealing identity');
    }
    const { recipients, unusable } = await recipientsOf(sealingIdentitiesOf(secret));
    const [recipient] = recipients;
    if (recipient === undefined) {
      throw new TerminalError(
        `The Secret "${name}" in namespace "${namespace}" holds no age identity that can be used; restore it from a backup, or delete it to have a new one made`,
      );
    }
    if (unusable > 0) {
      log.warn(
        { unusable },
        'The Secret with the sealing identities holds lines that are not valid age identities; fix or remove them',
      );
    }
    const former = await store.publishSealingRecipient(recipient, signal);
    if (former !== undefined && !recipients.includes(former)) reportLoss(store, log, former);
    return { requeueAfterMs: republishMs };
  };
}

/** Most nodes that the report of a loss names. */
const mostNamed = 50;

/** People sealed to a recipient whose identity the Secret does not hold: it was lost while no controller ran, or replaced. */
function reportLoss(store: ControllerStore, log: Log, lostRecipient: string): void {
  const sealed = [...store.list('UpstreamNode')].filter(({ spec }) => spec.encryptedAPIKey !== undefined);
  const nodes = sealed.slice(0, mostNamed).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  log.error(
    { lostRecipient, nodes, count: sealed.length },
    'The sealing identity of the published recipient was lost, so credentials that were sealed to it cannot be opened; restore the Secret from a backup, or seal the credentials of these nodes again',
  );
}

/** The recipients of the valid identities, in their order, and the number of lines that are no identity. */
async function recipientsOf(
  identities: readonly string[],
): Promise<{ recipients: readonly string[]; unusable: number }> {
  const recipients = await Promise.all(
    identities.map((identity) => sealingRecipient(identity).catch(() => undefined)),
  );
  const usable = recipients.filter((recipient) => recipient !== undefined);
  return { recipients: usable, unusable: recipients.length - usable.length };
}

/** `identities` begin with the newest; the Secret ends with it. */
function newSecret(namespace: string, name: string, identities: readonly string[]): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace,
      creationTimestamp: undefined,
      deletionTimestamp: undefined,
      labels: { 'app.kubernetes.io/managed-by': 'model-gateway' },
    },
    type: 'Opaque',
    data: { identities: Buffer.from(`${identities.toReversed().join('\n')}\n`, 'utf8').toString('base64') },
  };
}
