import type { ChatResponseFormat } from './chat-request.ts';
import type { Fields } from './fields.ts';
import { isObject } from './json.ts';
import { invalid } from './request-fields.ts';

/**
 * `response_format` for `output_config.format` or the older `output_format` (messages.md). With both, the older one is
 * a loss.
 */
export function convertOutputFormat(
  request: Fields,
  config: Fields | undefined,
): ChatResponseFormat | undefined {
  const current = config?.object('format');
  const format = current ?? request.object('output_format');
  if (format === undefined) return undefined;
  if (format.neededText('type') !== 'json_schema')
    throw invalid(format.path('type'), "Input should be 'json_schema'");
  const schema = format.neededWhole('schema');
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
