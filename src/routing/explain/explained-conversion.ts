import { ConversionError } from '../../convert/conversion-error.ts';
import { type ConvertedFormat, convertedFormats } from '../../convert/converted-formats.ts';
import type { Candidate, KeyEntry } from '../../store/store.ts';
import type { CallerFormat } from '../caller-format.ts';
import { dialectOf } from '../candidate-dialect.ts';
import type { Exclusion } from './exclusions.ts';

/** How the conversion to chat-completions changes the request. */
export interface ExplainedConversion {
  /** Such as `messages->chat`. */
  readonly name: string;
  /** The fields that it cannot carry; undefined if no request was given. */
  readonly dropped: readonly string[] | undefined;
}

/** Whether requests of a format are converted for nodes that do not speak it. */
export function isConverted(format: CallerFormat): format is ConvertedFormat {
  return Object.hasOwn(convertedFormats, format);
}

/** Converts a request (parsed JSON, or undefined for any) for a candidate that does not speak its format. */
export function explainConversion(
  candidate: Candidate,
  format: ConvertedFormat,
  key: KeyEntry,
  body: unknown,
): ExplainedConversion | { readonly refusal: Exclusion } {
  const dialect = dialectOf(candidate);
  const counted = dialect.tokenize ? 'tokenize' : 'estimate';
  const name = format === 'count_tokens' ? `count_tokens->${counted}` : `${format}->chat`;
  if (body === undefined) return { name, dropped: undefined };
  const { resource } = key;
  const strict = resource.kind === 'APIKey' && resource.spec.conversion === 'Strict';
  try {
    let made = 0;
    const newId = (prefix: string): string => `${prefix}${++made}`;
    const options = { model: candidate.model, dialect, strict, newId, now: () => 0 };
    return { name, dropped: convertedFormats[format].convert(body, options).dropped };
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    return {
      refusal: {
        reason: 'conversion',
        message: `it does not speak ${format}, and the request cannot be converted: ${error.message.replace(/\.$/, '')}`,
        remedy: strict
          ? 'use a node with the format in spec.nativeFormats, or a key with conversion: Lossy'
          : 'use a node with the format in spec.nativeFormats, or leave the field out',
      },
    };
  }
}
