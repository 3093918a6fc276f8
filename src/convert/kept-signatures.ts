import { isObject, type JsonObject, parseJsonAsWritten } from './json.ts';
import { limits } from './limits.ts';
import { isNestedWithin } from './request-fields.ts';

/**
 * What a node signs or encrypts in its answer and wants to see again with the next request: Gemini refuses a tool call
 * that comes back without its thought signature.
 */
export interface KeptSignatures {
  /** `extra_content` of tool calls, such as `{google: {thought_signature}}`, by the call's id as the caller knows it. */
  readonly calls?: Readonly<Record<string, JsonObject>>;
  /** `extra_content` of the message itself. */
  readonly message?: JsonObject;
  /** `reasoning_details` (OpenRouter), in their order and as they came. */
  readonly details?: readonly JsonObject[];
}

/** Anthropic's signatures and OpenAI's encrypted reasoning are base64, which has no dot. The digit is the version. */
const prefix = 'mgw1.';

/**
 * The text that carries them through a caller: as `signature` or `data` of a thinking block, as `encrypted_content` of
 * a reasoning item. `model` is the node's name of the model: no other model can read them. Undefined if they are too
 * large to be carried; they are lost then.
 */
export function packSignatures(kept: KeptSignatures, model: string): string | undefined {
  const json = JSON.stringify({ model, ...kept });
  if (json.length > limits.keptSignatures) return undefined;
  return prefix + Buffer.from(json).toString('base64url');
}

/** Whether a text was made by `packSignatures`, as far as its beginning shows. */
export function isPacked(text: string): boolean {
  return text.startsWith(prefix);
}

/** The signatures in a text; undefined if `packSignatures` did not make it, if it was changed since, or if it is for another model. */
export function unpackSignatures(text: string, model: string): KeptSignatures | undefined {
  if (!isPacked(text) || text.length > longestPacked) return undefined;
  const packed = parseJsonAsWritten(Buffer.from(text.slice(prefix.length), 'base64url').toString());
  if (!isObject(packed) || packed['model'] !== model) return undefined;
  const { calls, message, details } = packed;
  return {
    ...(isObject(calls) ? { calls: objectsIn(calls) } : {}),
    ...(isObject(message) && isShallow(message) ? { message } : {}),
    ...(Array.isArray(details) ? { details: details.filter(isObject).filter(isShallow) } : {}),
  };
}

/** Base64 has 4 characters for 3 bytes; a character of the JSON may take 3 bytes. */
const longestPacked = limits.keptSignatures * 4 + prefix.length;

function objectsIn(calls: JsonObject): Readonly<Record<string, JsonObject>> {
  const kept = new Map<string, JsonObject>();
  for (const [id, extra] of Object.entries(calls))
    if (isObject(extra) && isShallow(extra)) kept.set(id, extra);
  return Object.fromEntries(kept);
}

/**
 * Whether a value can be written again without a stack overflow. The caller may have made the text; values of vendors have 2 or
 * 3 levels.
 */
function isShallow(value: JsonObject): boolean {
  return isNestedWithin(value, limits.nesting);
}
