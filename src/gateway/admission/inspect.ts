import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors/errors.ts';
import { JsonScanError, type OnMember, type Scanned, scanObject } from './json-scan.ts';

/** What routing needs of a body. Offsets are those of the model's JSON string, quotes included, or of its part's value. */
export interface Inspection extends Scanned {
  readonly model: string;
  readonly stream: boolean;
  readonly modelStart: number;
  readonly modelEnd: number;
  /** The top-level member `prompt_cache_key`, if it is a text; a repeated member counts once, the last. */
  readonly promptCacheKey: string | undefined;
  /** Set if the body is multipart. `length`: where the model's part says its length, if it does. */
  readonly form?: {
    readonly boundary: string;
    readonly length: { readonly start: number; readonly end: number } | undefined;
  };
}

/** Lengths of `model`, `models` and `fallbacks`: case folding does not change their number of letters. */
const namesLike: ReadonlySet<number> = new Set([5, 6, 9]);

const cacheKey = Buffer.from('prompt_cache_key');
/** Longest value in bytes that is read, quotes and escapes included; what is longer names no session. */
const longestCacheKey = 4_096;

/** No other key that matters is longer, not even with each character escaped. */
const longestKey = 'fallbacks'.length * 6;

/**
 * Reads `model` and `stream` of a request body and checks what could make a node read another model than we do:
 * exactly one top-level member equals `model` ignoring case (some servers' JSON readers do), and it is spelled so;
 * with `restricted` (a key with an allowlist) there is no `models` or `fallbacks`, which name models too.
 * Throws GatewayError.
 */
export function inspect(body: Buffer, options: { restricted: boolean; maxDepth: number }): Inspection {
  let models = 0;
  let misspelled: string | undefined;
  let forbidden: string | undefined;
  let modelStart = 0;
  let modelEnd = 0;
  let streamStart = -1;
  let cacheKeyStart = -1;
  let cacheKeyEnd = -1;
  const onMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number): void => {
    const length = keyEnd - keyStart;
    if (length < 5 || length > longestKey) return;
    if (body[keyStart] === 0x70) {
      if (length !== cacheKey.length || cacheKey.compare(body, keyStart, keyEnd) !== 0) return;
      cacheKeyStart = valueStart;
      cacheKeyEnd = valueEnd;
      return;
    }
    if (!mayMatter(body[keyStart])) return;
    const key = jsonText(body, keyStart, keyEnd);
    if (key === 'stream') {
      streamStart = valueStart;
      return;
    }
    const folded = namesLike.has(key.length) ? foldCase(key) : key;
    if (folded === 'model') {
      models += 1;
      if (key !== 'model') misspelled = key;
      modelStart = valueStart;
      modelEnd = valueEnd;
    } else if (folded === 'models' || folded === 'fallbacks') {
      forbidden = key;
    }
  };
  const scanned = scanBody(body, options.maxDepth, onMember);
  if (models === 0)
    throw new GatewayError('missing_parameter', 'Missing required parameter: model.', { param: 'model' });
  if (models > 1 || misspelled !== undefined) {
    const message = `The request must have exactly one member "model", spelled in lower case; it has ${
      models > 1 ? `${models} of them` : `"${misspelled}"`
    }.`;
    throw new GatewayError('invalid_value', message, { param: 'model' });
  }
  if (forbidden !== undefined && options.restricted) {
    const message = `This API key is limited to certain models, so a request may not contain "${forbidden}".`;
    throw new GatewayError('unsupported_parameter', message, { param: forbidden });
  }
  return {
    model: modelName(body, modelStart, modelEnd),
    stream: isStream(body, streamStart),
    modelStart,
    modelEnd,
    promptCacheKey: cacheKeyStart < 0 ? undefined : cacheKeyText(body, cacheKeyStart, cacheKeyEnd),
    longStrings: scanned.longStrings,
    oddNumbers: scanned.oddNumbers,
  };
}

/** `scanObject`, for a body of a caller: throws GatewayError. */
export function scanBody(body: Buffer, maxDepth: number, onMember: OnMember): Scanned {
  if (!isUtf8(body)) throw new GatewayError('invalid_json', 'The request body is not valid UTF-8.');
  try {
    return scanObject(body, maxDepth, onMember);
  } catch (error) {
    if (!(error instanceof JsonScanError)) throw error;
    const where = body.length === 0 ? 'it is empty' : `${error.message} (byte ${error.offset})`;
    throw new GatewayError('invalid_json', `The request body is not a valid JSON object: ${where}.`);
  }
}

/**
 * The parts of the body with another model name; all other bytes are the caller's, not copied. Throws GatewayError if the
 * name cannot stand in a multipart body with this boundary.
 */
export function withModel(
  body: Buffer,
  { modelStart, modelEnd, form }: Inspection,
  name: string,
): Uint8Array[] {
  const after = body.subarray(modelEnd);
  if (form === undefined) return [body.subarray(0, modelStart), Buffer.from(JSON.stringify(name)), after];
  const { boundary, length } = form;
  if (name.includes(`--${boundary}`)) {
    const message = 'The boundary of the multipart body is part of a model name; choose another boundary.';
    throw new GatewayError('invalid_multipart', message);
  }
  const value = Buffer.from(name);
  if (length === undefined) return [body.subarray(0, modelStart), value, after];
  const digits = Buffer.from(String(value.length));
  return [body.subarray(0, length.start), digits, body.subarray(length.end, modelStart), value, after];
}

/** Whether a key that begins with this byte can be one of ours: model(s), fallbacks, stream, or one written with escapes. */
function mayMatter(first: number | undefined): boolean {
  return (
    first === 0x6d || first === 0x4d || first === 0x66 || first === 0x46 || first === 0x73 || first === 0x5c
  );
}

/** The value of the JSON string between these offsets, which exclude its quotes. */
export function jsonText(body: Buffer, start: number, end: number): string {
  const raw = body.toString('utf8', start, end);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

/** Case folding as the laxest JSON readers do it: U+212A equals k, U+017F equals s. */
function foldCase(text: string): string {
  if (text === 'model') return text;
  return text.toUpperCase().toLowerCase();
}

function modelName(body: Buffer, start: number, end: number): string {
  const value = body[start] === 0x22 ? jsonText(body, start + 1, end - 1) : '';
  if (value !== '') return value;
  throw new GatewayError('invalid_value', 'model must be a non-empty string.', { param: 'model' });
}

function cacheKeyText(body: Buffer, start: number, end: number): string | undefined {
  if (body[start] !== 0x22 || end - start > longestCacheKey) return undefined;
  return jsonText(body, start + 1, end - 1) || undefined;
}

function isStream(body: Buffer, start: number): boolean {
  if (start < 0) return false;
  const first = body[start];
  if (first === 0x74) return true;
  if (first === 0x66 || first === 0x6e) return false;
  throw new GatewayError('invalid_value', 'stream must be true or false.', { param: 'stream' });
}
