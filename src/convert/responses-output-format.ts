import type { ChatResponseFormat } from './chat-request.ts';
import type { JsonObject } from './json.ts';
import { limits } from './limits.ts';
import {
  asObject,
  checkNesting,
  invalid,
  optionalBoolean,
  optionalObject,
  optionalString,
  required,
  requiredString,
} from './request-fields.ts';

/** `text.format` as `response_format`; undefined for plain text. The schema and `strict` stay exactly as given. */
export function convertTextFormat(text: JsonObject): ChatResponseFormat | undefined {
  const at = 'text.format';
  const format = optionalObject(text, 'format', 'text');
  if (format === undefined) return undefined;
  const type = requiredString(format, 'type', at);
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type };
  if (type !== 'json_schema')
    throw invalid(`${at}.type`, "Supported values are: 'json_object', 'json_schema' and 'text'");
  const name = requiredString(format, 'name', at);
  const schema = asObject(required(format, 'schema', at), `${at}.schema`);
  checkNesting(schema, `${at}.schema`, limits.nesting);
  const strict = optionalBoolean(format, 'strict', at);
  const description = optionalString(format, 'description', at);
  return {
    type,
    json_schema: {
      name,
      schema,
      ...(strict === undefined ? {} : { strict }),
      ...(description === undefined ? {} : { description }),
    },
  };
}
