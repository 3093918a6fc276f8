import type { Secret } from '../resources/secret.ts';

/** The Secret that holds the sealing identities, and the ConfigMap with the public half. */
export const sealingSecretName = 'model-gateway-sealing';

/** The file of a standalone data folder that holds the public half. */
export const recipientFile = 'sealing-recipient.txt';

/**
 * The age identities of the sealing Secret, the newest first: the lines of its entry `identities` from the last to the
 * first, then those of any other entry. Lines that are no identity are comments.
 */
export function sealingIdentitiesOf(secret: Secret): string[] {
  const { identities, ...others } = secret.data;
  const rest = Object.entries(others)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, entry]) => entry);
  return [identities, ...rest].flatMap((entry) =>
    entry === undefined
      ? []
      : linesOf(entry)
          .filter((line) => line.startsWith('AGE-SECRET-KEY-'))
          .reverse(),
  );
}

function linesOf(entry: string): string[] {
  return Buffer.from(entry, 'base64').toString('utf8').split(/\s+/);
}
