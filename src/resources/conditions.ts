import { z } from 'zod';
import { dateTime, mapOf, text } from './fields.ts';

/**
 * One observation about an object, in Kubernetes' standard shape. A condition is atomic: its writer owns all six
 * fields. Recording an owner of each field took a ninth of a key's text, and a third of the API server's time to list keys.
 */
const conditionSchema = z
  .object({
    type: text(316, 1).meta({ description: 'What is observed.' }),
    status: z.enum(['True', 'False', 'Unknown']).meta({ description: 'Whether it is so.' }),
    reason: text(1_024, 1).meta({
      description: 'Why, as one CamelCase word of a closed list. Programs may rely on it.',
    }),
    message: text(4_096).meta({ description: 'Why, as a sentence for people.' }),
    lastTransitionTime: dateTime().meta({ description: 'When the status last changed.' }),
    observedGeneration: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .meta({ description: 'The metadata.generation that was observed.', format: 'int64' })
      .optional(),
  })
  .meta({ 'x-kubernetes-map-type': 'atomic' });

/** One observation about an object. `reason` is a `Reason` wherever we write it. */
export type Condition = z.output<typeof conditionSchema>;

/** The conditions of an object, told apart by their type. */
export function conditions(description: string) {
  return mapOf(conditionSchema, 'type', 16).meta({ description });
}

/** `status.observedGeneration`; the CRD's default of -1 keeps a new object from looking finished. */
export function observedGeneration() {
  return z.int().min(-1).max(Number.MAX_SAFE_INTEGER).meta({
    description: 'The metadata.generation this status speaks of; -1 before the first.',
    format: 'int64',
  });
}
