import { z } from 'zod';
import { namespaceName, resourceName } from './fields.ts';

const ownerReferenceSchema = z.object({
  apiVersion: z.string().max(512),
  kind: z.string().max(253),
  name: z.string().max(253),
  uid: z.string().max(253),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
});

/** The part of an object's metadata that is kept; times are RFC 3339. The rest is dropped, above all `managedFields`, often half of an object. */
export const objectMetaSchema = z.object({
  name: resourceName(),
  /** A manifest without one means `default`, as kubectl reads it. */
  namespace: namespaceName().default('default'),
  uid: z.string().max(253).optional(),
  resourceVersion: z.string().max(253).optional(),
  generation: z.int().min(0).optional(),
  creationTimestamp: z
    .string()
    .max(64)
    .nullish()
    .transform((value) => value ?? undefined),
  deletionTimestamp: z
    .string()
    .max(64)
    .nullish()
    .transform((value) => value ?? undefined),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  ownerReferences: z.array(ownerReferenceSchema).max(1_000).optional(),
});

/** Members of `metadata` that a manifest may have and that are not used. */
export const ignoredMetaFields: readonly string[] = [
  'deletionGracePeriodSeconds',
  'finalizers',
  'generateName',
  'managedFields',
  'selfLink',
];
