import { z } from 'zod';
import type { Declarations, Ref } from '../cli/edit/declarations.ts';
import type { Edit } from '../cli/edit/edit.ts';
import { clearedKeyEdits, modelEdits, sealedKeyEdits, syncEdit } from '../cli/edit/node-edits.ts';
import { generateKeyText, hashKeyText, keyHint } from '../resources/key-text.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';
import { isDeeperThan } from './depth.ts';

const step = z.union([z.string().min(1).max(253), z.object({ name: z.string().min(1).max(512) })]);
const path = z.tuple([z.literal('spec')]).rest(step);
/** Edits may not set the credential fields of a spec: a key is sent as `apiKey` and is sealed here. */
const free = path.refine(([, field]) => field !== 'encryptedAPIKey', {
  message: 'is no field to edit',
  params: { remedy: 'give the key as apiKey; it is sealed here' },
});

/** A node has at most 5,000 discovered models and 1,000 manual ones. */
const maxModels = 6_000;

/** Deeper than any field. Edits copy values by recursion, and a deeper value would throw a RangeError. */
const deepest = 32;
const shallow = z.unknown().refine((value) => !isDeeperThan(value, deepest), 'is nested too deeply');

/** The changes of a resource that the page may ask for. Bounded; the server validates the rest. */
export const wishesSchema = z.strictObject({
  edits: z
    .array(
      z.union([
        z.strictObject({ path: free, value: shallow }),
        z.strictObject({ path: free, remove: z.literal(true) }),
      ]),
    )
    .max(2_000)
    .default([]),
  models: z
    .strictObject({ names: z.array(z.string().min(1).max(512)).min(1).max(maxModels), enabled: z.boolean() })
    .optional(),
  apiKey: z.string().min(1).max(16_384).optional(),
  clearApiKey: z.literal(true).optional(),
  sync: z.literal(true).optional(),
  newKey: z.literal(true).optional(),
});
export type Wishes = z.output<typeof wishesSchema>;

/** The edits for these wishes, and the text of the key that was generated for them, if one was. */
export interface Planned {
  readonly edits: readonly Edit[];
  readonly value: string | undefined;
}

/**
 * Converts wishes to edits. A credential is sealed here, before it leaves this machine.
 * Throws DeclarationError `Invalid` for wishes that a declaration cannot hold.
 */
export async function planWishes(
  wishes: Wishes,
  ref: Ref,
  target: {
    /** The address that the node will have, which a sealed key opens for. */
    readonly baseURL: string | undefined;
    /** The node as it is; undefined for one that is being made, and for keys. */
    readonly node: UpstreamNode | undefined;
  },
  options: {
    readonly declarations: Declarations;
    readonly randomBytes: (size: number) => Buffer;
    readonly now: () => number;
    readonly signal: AbortSignal;
  },
): Promise<Planned> {
  const edits: Edit[] = [...(wishes.edits as readonly Edit[])];
  const { baseURL, node } = target;
  if (wishes.models !== undefined && node !== undefined) {
    edits.push(...modelEdits(node, wishes.models.names, wishes.models.enabled));
  }
  if (wishes.clearApiKey !== undefined && wishes.apiKey === undefined) edits.push(...clearedKeyEdits);
  if (wishes.apiKey !== undefined && baseURL !== undefined) {
    const { namespace, name } = ref;
    const sealedFor = { kind: 'UpstreamNode', namespace, name } as const;
    edits.push(
      ...(await sealedKeyEdits(options.declarations, sealedFor, baseURL, wishes.apiKey, options.signal)),
    );
  }
  if (wishes.sync !== undefined) edits.push(syncEdit(new Date(options.now()).toISOString()));
  if (wishes.newKey === undefined) return { edits, value: undefined };
  const value = generateKeyText(ref.kind === 'MasterKey' ? 'master' : 'api', options.randomBytes);
  edits.push({ path: ['spec', 'hash'], value: hashKeyText(value) });
  edits.push({ path: ['spec', 'hint'], value: keyHint(value) });
  return { edits, value };
}
