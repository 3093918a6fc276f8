import { armor, Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { z } from 'zod';
import { maxSealedLength } from './upstream-node.ts';

const contentSchema = z.strictObject({
  v: z.literal(1),
  namespace: z.string(),
  name: z.string(),
  origin: z.string(),
  apiKey: z.string(),
});

/** Longest credential of a node, in characters. */
export const maxCredentialLength = 8_192;

/** Most identities that are tried; each attempt costs a key exchange. */
const maxIdentities = 100;

/** The node that a sealed credential is for, and the origin of the node's `baseURL`. */
export type SealedFor = { readonly namespace: string; readonly name: string; readonly baseURL: string };

/** The result of opening: the credential, or why there is none. */
export type Opened =
  | { readonly apiKey: string }
  /** `unreadable`: no identity opens it, or it is damaged, or it was not made by us. */
  | { readonly refused: 'unreadable' }
  /** `elsewhere`: it opens but belongs to another node; `differs` names the parts that are different. */
  | { readonly refused: 'elsewhere'; readonly differs: readonly ('namespace' | 'name' | 'origin')[] };

/** A new age identity (`AGE-SECRET-KEY-1…`), which opens what is sealed to its recipient. */
export function generateSealingIdentity(): Promise<string> {
  return generateX25519Identity();
}

/**
 * The public half of an identity (`age1…`).
 * @throws Error when the text is no age identity; the message does not repeat it
 */
export async function sealingRecipient(identity: string): Promise<string> {
  try {
    return await identityToRecipient(identity);
  } catch {
    throw new Error('The sealing identity is not an age identity (AGE-SECRET-KEY-1…)');
  }
}

/** Whether a credential can be sent in a header: 1 to 8,192 visible ASCII characters. */
export function isCredential(apiKey: string): boolean {
  return apiKey.length <= maxCredentialLength && /^[!-~]+$/.test(apiKey);
}

/**
 * Whether a text can be a sealed credential: complete armor around an age file. Only an identity can show whether it opens.
 */
export function isSealedText(text: string): boolean {
  try {
    const file = Buffer.from(armor.decode(text)).toString('latin1');
    return file.startsWith('age-encryption.org/v1\n') && file.includes('\n--- ');
  } catch {
    return false;
  }
}

/**
 * Seals a node's credential to a gateway's recipient, for `spec.encryptedAPIKey`. It is bound to the node's namespace
 * and name and to the origin of its `baseURL`, so that it cannot be used in another node.
 * @returns armored age text
 * @throws Error when the recipient, the base URL or the credential is not usable; the message holds no part of the key
 */
export async function sealApiKey(
  sealing: SealedFor & { readonly recipient: string; readonly apiKey: string },
): Promise<string> {
  const { recipient, namespace, name, baseURL, apiKey } = sealing;
  if (!isCredential(apiKey)) {
    throw new Error(
      `The API key must be 1 to ${maxCredentialLength} visible ASCII characters without blanks`,
    );
  }
  const origin = originOf(baseURL);
  if (origin === undefined) throw new Error('The base URL is not an http or https URL');
  const encrypter = new Encrypter();
  try {
    encrypter.addRecipient(recipient);
  } catch {
    throw new Error('The recipient is not an age recipient (age1…)');
  }
  const content = JSON.stringify({ v: 1, namespace, name, origin, apiKey });
  return armor.encode(await encrypter.encrypt(content));
}

/**
 * Opens a sealed credential, if it was sealed for this very node and origin.
 * @param sealed the armored text, the identities to try (any of them may open it; what is no identity is passed over)
 *   and where the text was found
 * @throws Error when there are identities and none is an age identity; the message repeats none of them
 */
export async function openSealedKey(
  sealed: SealedFor & { readonly text: string; readonly identities: readonly string[] },
): Promise<Opened> {
  const content = await decrypt(sealed.text, sealed.identities);
  if (content === undefined) return { refused: 'unreadable' };
  const differs = (['namespace', 'name'] as const).filter((part) => content[part] !== sealed[part]);
  const elsewhere = content.origin === originOf(sealed.baseURL) ? differs : [...differs, 'origin' as const];
  if (elsewhere.length > 0) return { refused: 'elsewhere', differs: elsewhere };
  return isCredential(content.apiKey) ? { apiKey: content.apiKey } : { refused: 'unreadable' };
}

async function decrypt(
  text: string,
  identities: readonly string[],
): Promise<z.output<typeof contentSchema> | undefined> {
  if (text.length > maxSealedLength) return undefined;
  const decrypter = new Decrypter();
  let usable = 0;
  for (const identity of identities) {
    if (usable === maxIdentities) break;
    try {
      decrypter.addIdentity(identity);
      usable += 1;
    } catch {
      // A typing error in one identity must not make the others unusable; the controller warns about it.
    }
  }
  if (usable === 0 && identities.length > 0) {
    throw new Error('None of the sealing identities is an age identity (AGE-SECRET-KEY-1…)');
  }
  try {
    const content: unknown = JSON.parse(await decrypter.decrypt(armor.decode(text), 'text'));
    const parsed = contentSchema.safeParse(content);
    return parsed.success ? parsed.data : undefined;
  } catch {
    // age's error gives no reason, and that of JSON.parse would quote the text, which must not reach a log.
    return undefined;
  }
}

function originOf(baseURL: string): string | undefined {
  if (!URL.canParse(baseURL)) return undefined;
  const { protocol, origin } = new URL(baseURL);
  return protocol === 'http:' || protocol === 'https:' ? origin : undefined;
}
