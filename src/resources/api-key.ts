import { z } from 'zod';
import { modelName, namespaceName, setOf } from './fields.ts';
import { keySourceChangeRules, keySourceFields, keySourceRules, keyStatus } from './key-source.ts';
import { objectMetaSchema } from './object-meta.ts';
import { withRules } from './rules.ts';

export const apiKeySchema = z.object({
  apiVersion: z.literal('modelgateway.dev/v1alpha1'),
  kind: z.literal('APIKey'),
  metadata: objectMetaSchema,
  spec: withRules(
    z.object({
      ...keySourceFields,
      models: setOf(modelName(), 1_000, 1)
        .meta({ description: 'Names that the key may ask for; absent means all.' })
        .optional(),
      nodeNamespaces: setOf(namespaceName(), 256)
        .meta({
          description:
            "Namespaces whose nodes the key may use besides its own and the gateway's home, if those nodes admit it.",
        })
        .optional(),
      priority: z.enum(['High', 'Normal', 'Low']).default('Normal').meta({
        description:
          'Whose requests come first where requests wait for a full node (spec.concurrency of the node).',
      }),
      conversion: z.enum(['Lossy', 'Strict']).default('Lossy').meta({
        description:
          'Lossy: a conversion drops what it cannot carry and says so. Strict: such a request is refused.',
      }),
    }),
    keySourceRules,
    keySourceChangeRules,
  ),
  status: keyStatus('Ready, ModelsResolved, InForce; Reconciling or Stalled while they hold.').optional(),
});

/** A key for callers of the model APIs. Defaults are filled in. */
export type ApiKey = z.output<typeof apiKeySchema>;
export type ApiKeyStatus = NonNullable<ApiKey['status']>;
