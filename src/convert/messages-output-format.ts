import type { ChatResponseFormat } from './chat-request.ts';
import { isObject, type JsonObject } from './json.ts';
import { limits } from './limits.ts';
import {
  asObject,
  checkNesting,
  invalid,
  optionalObject,
  pathOf,
  required,
  requiredString,
} from './request-fields.ts';

/** `response_format` for `output_config.format` or the older `output_format` (messages.md). */
export function convertOutputFormat(body: JsonObject): ChatResponseFormat | undefined {
  const config = optionalObject(body, 'output_config', '') ?? {};
  const current = optionalObject(config, 'format', 'output_config');
  const format = current ?? optionalObject(body, 'output_format', '');
  if (format === undefined) return undefined;
  const at = current === undefined ? 'output_format' : 'output_config.format';
  if (requiredString(format, 'type', at) !== 'json_schema')
    throw invalid(pathOf(at, 'type'), "Input should be 'json_schema'");
  const path = pathOf(at, 'schema');
  const schema = asObject(required(format, 'schema', at), path);
  checkNesting(schema, path, limits.nesting);
  const strict = isStrict(schema) ? { strict: true } : {};
  return { type: 'json_schema', json_schema: { name: 'response', schema, ...strict } };
}

/**
 * Whether OpenAI's strict mode takes a schema as it is: every object closed, every property required. Where a node
 * would refuse it the schema is sent without `strict`; it is never rewritten.
 */
function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  if (!isObject(schema)) return true;
  if (schema['type'] === 'object' || isObject(schema['properties'])) {
    const names = Object.keys(isObject(schema['properties']) ? schema['properties'] : {});
    const needed: unknown = schema['required'];
    const all = Array.isArray(needed) ? new Set<unknown>(needed) : new Set<unknown>();
    if (schema['additionalProperties'] !== false || names.some((name) => !all.has(name))) return false;
  }
  return Object.values(schema).every(isStrict);
}
