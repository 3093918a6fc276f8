import type { ChatResponseFormat } from './chat-request.ts';
import type { Fields } from './fields.ts';
import { invalid } from './request-fields.ts';

/** `text.format` as `response_format`; undefined for plain text. The schema and `strict` stay exactly as given. */
export function convertTextFormat(text: Fields): ChatResponseFormat | undefined {
  const format = text.object('format');
  if (format === undefined) return undefined;
  const type = format.neededText('type');
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type };
  if (type !== 'json_schema')
    throw invalid(format.path('type'), "Supported values are: 'json_object', 'json_schema' and 'text'");
  const name = format.neededText('name');
  const schema = format.neededWhole('schema');
  const strict = format.flag('strict');
  const description = format.text('description');
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
