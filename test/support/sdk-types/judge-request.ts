import { ConversionError } from '../../../src/convert/conversion-error.ts';
import { type ConvertedFormat, convertedFormats } from '../../../src/convert/converted-formats.ts';
import { type Dialect, resolveDialect } from '../../../src/convert/dialect.ts';
import { isAsked } from '../../../src/convert/fields.ts';
import { isObject } from '../../../src/convert/json.ts';
import { type FieldRequest, mark } from './field-requests.ts';

/**
 * What became of a field. `carried`: its value is in the chat request. `named`, `hint`: in `x-model-gateway-dropped`, as a
 * loss or not. `refused`: a 400. `same`: the chat request is what it is without the field. `changed`: it differs, but the
 * value is not in it. `astray`: a 400 that names another field. The last three need a reason; with one they are a `default`.
 */
export type Verdict = 'carried' | 'default' | 'named' | 'hint' | 'refused' | 'same' | 'changed' | 'astray';

/** Most hosts, and one that takes all that chat-completions can say. */
export const dialects: readonly Dialect[] = [
  resolveDialect({ host: 'example.com', model: 'm' }),
  resolveDialect({
    host: 'api.openai.com',
    model: 'm',
    node: {
      reasoningEfforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
      reasoningHistoryField: 'ReasoningContent',
      toolImages: 'Inline',
      samplingExtras: true,
    },
  }),
];

interface Outcome {
  readonly chat: string;
  readonly texts: readonly unknown[];
  readonly dropped: readonly string[];
  readonly lossy: boolean;
}

/** Judges one field of one request for a node of that dialect. */
export function judge(format: ConvertedFormat, request: FieldRequest, dialect: Dialect): Verdict {
  const { path, value } = request;
  const outcome = convert(format, request.body, dialect);
  if (outcome instanceof ConversionError) return concerns(outcome.param ?? '', path) ? 'refused' : 'astray';
  const named = outcome.dropped.some((dropped) => concerns(dropped, path));
  if (named) return outcome.lossy ? 'named' : 'hint';
  if (isMarked(outcome, value)) return 'carried';
  const other = convert(format, request.without, dialect);
  if (other instanceof ConversionError)
    return isObject(value) || says(outcome, path, value) ? 'carried' : 'changed';
  // Null means the same as nothing, and so do an empty object and an empty list.
  if (other.chat === outcome.chat) return isAsked(value) || value === false ? 'same' : 'default';
  // The members of an object are judged one by one; of the object itself it is enough that it has an effect.
  if (isObject(value)) return 'carried';
  return says(outcome, path, value) && !says(other, path, value) ? 'carried' : 'changed';
}

/** Whether the chat request holds a value that nothing else of it can be. */
function isMarked({ chat, texts }: Outcome, value: unknown): boolean {
  if (typeof value === 'string' && value.includes(mark))
    return chat.includes(JSON.stringify(value).slice(1, -1));
  if (typeof value === 'number') return texts.includes(value);
  if (!isObject(value) || !isObject(value['properties'])) return false;
  const json = JSON.stringify(value);
  return chat.includes(json) || chat.includes(JSON.stringify(json).slice(1, -1));
}

/** Whether the chat request holds a literal: as a value, within a data URL, or, being a boolean, under the same name. */
function says({ chat, texts }: Outcome, path: string, value: unknown): boolean {
  if (typeof value === 'boolean') return chat.includes(`"${path.replace(/.*\./, '')}":${value}`);
  return texts.includes(value) || (typeof value === 'string' && value.includes('/') && chat.includes(value));
}

function convert(format: ConvertedFormat, body: unknown, dialect: Dialect): Outcome | ConversionError {
  try {
    const options = {
      model: 'm',
      dialect,
      strict: false,
      newId: (prefix: string) => `${prefix}1`,
      now: () => 0,
    };
    const { chats, dropped, lossy } = convertedFormats[format].convert(body, options);
    return { chat: JSON.stringify(chats), texts: leaves(chats), dropped, lossy };
  } catch (error) {
    if (error instanceof ConversionError) return error;
    throw error;
  }
}

function leaves(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  return Object.values(value).flatMap(leaves);
}

/** Whether a path is the field's own, or that of what it is part of, or of a part of it; a `type` is its object. */
function concerns(said: string, path: string): boolean {
  const at = said.replaceAll(/\[\d+\]/g, '[]').replace(/\.type$/, '');
  return at !== '' && (at === path || isWithin(at, path) || isWithin(path, at));
}

function isWithin(outer: string, inner: string): boolean {
  return inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
}
