import { z } from 'zod';
import { keySourceChangeRules, keySourceFields, keySourceRules, keyStatus } from './key-source.ts';
import { objectMetaSchema } from './object-meta.ts';
import { withRules } from './rules.ts';

export const masterKeySchema = z.object({
  apiVersion: z.literal('modelgateway.dev/v1alpha1'),
  kind: z.literal('MasterKey'),
  metadata: objectMetaSchema,
  spec: withRules(z.object(keySourceFields), keySourceRules, keySourceChangeRules),
  status: keyStatus('Ready, InForce; Reconciling or Stalled while they hold.').optional(),
});

/** A key that opens `/v1/keys` and nothing else. Defaults are filled in. */
export type MasterKey = z.output<typeof masterKeySchema>;
