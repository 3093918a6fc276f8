import { ConversionError } from './conversion-error.ts';
import { type ConvertedFormat, convertedFormats } from './converted-formats.ts';
import { type Dialect, effortScale, resolveDialect } from './dialect.ts';
import { randomId } from './ids.ts';
import type { LongTextReader } from './unread-text.ts';

/** The dialect that accepts everything that any node accepts: a loss with it is a loss on every node. */
const permissive: Dialect = resolveDialect({
  host: 'api.openai.com',
  model: '',
  node: {
    reasoningEfforts: effortScale,
    reasoningHistoryField: 'ReasoningContent',
    toolImages: 'Inline',
    samplingExtras: true,
  },
});

/**
 * Whether the conversion of this request would lose something, or refuse it, on every node: then a node that speaks its format
 * is better. `body` is the parsed JSON; `now` is in milliseconds since 1970; `texts` returns the texts that marks in the
 * body replace.
 */
export function needsNative(
  format: ConvertedFormat,
  body: unknown,
  now: () => number,
  texts?: LongTextReader,
): boolean {
  try {
    const options = {
      model: 'model',
      dialect: permissive,
      strict: false,
      newId: randomId,
      now,
      ...(texts === undefined ? {} : { texts }),
    };
    return convertedFormats[format].convert(body, options).lossy;
  } catch (error) {
    if (error instanceof ConversionError) return true;
    throw error;
  }
}
