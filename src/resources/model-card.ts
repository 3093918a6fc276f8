import { z } from 'zod';
import { line, patterned, setOf, whole } from './fields.ts';
import { withRules } from './rules.ts';

/** The largest number of tokens that a window may have. */
export const mostTokens = 100_000_000;

const tokens = () => whole(1, mostTokens);

const price = () =>
  patterned(
    20,
    /^[0-9]+([.][0-9]+)?$/,
    'must be a decimal number',
    'write it in quotes, such as "2.50", without a currency',
  );

/** What callers and agents should know about a model (`spec.models[].card`). Nothing has a default: what is absent is not known. */
export const modelCardSchema = withRules(
  z.object({
    displayName: line(253).meta({ description: 'The name that people are shown.' }).optional(),
    contextTokens: tokens()
      .meta({ description: 'The context window in tokens: the prompt and the answer together.' })
      .optional(),
    outputTokens: tokens().meta({ description: 'The longest answer in tokens.' }).optional(),
    input: setOf(z.enum(['Text', 'Image', 'Audio', 'File']), 4, 1)
      .meta({ description: 'What a prompt may hold.' })
      .optional(),
    tools: z.boolean().meta({ description: 'Whether the model calls tools.' }).optional(),
    price: z
      .object({
        inputPerMillion: price().meta({ description: 'For a million tokens of prompts.' }).optional(),
        cachedInputPerMillion: price()
          .meta({ description: 'For a million tokens of prompts that the node had in its cache.' })
          .optional(),
        outputPerMillion: price().meta({ description: 'For a million tokens of answers.' }).optional(),
      })
      .meta({
        description: 'Prices as decimal numbers such as "2.50", in the one currency of the installation.',
      })
      .optional(),
  }),
  [
    {
      cel: '!has(self.contextTokens) || !has(self.outputTokens) || self.outputTokens <= self.contextTokens',
      message: 'must not exceed contextTokens',
      remedy: 'the window holds the prompt and the answer: raise contextTokens, or lower outputTokens',
      field: 'outputTokens',
      holds: ({ contextTokens, outputTokens }) =>
        contextTokens === undefined || outputTokens === undefined || outputTokens <= contextTokens,
    },
  ],
);

export type ModelCard = z.output<typeof modelCardSchema>;
