import { expect, test } from 'vitest';
import { eventMeaning } from '../../../../src/gateway/answer/event-meaning.ts';
import { eventFault } from '../../../../src/gateway/answer/reported-error.ts';
import type { CallerFormat } from '../../../../src/routing/caller-format.ts';

const choice = (delta: object, finish: string | null = null) =>
  JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] });

const cases: readonly (readonly [format: CallerFormat, data: string, meaning: string])[] = [
  ['chat', '', 'nothing'],
  ['chat', '[DONE]', 'end'],
  ['chat', '{"choices":[]}', 'lifecycle'],
  ['chat', '{"choices":[],"error":null}', 'lifecycle'],
  ['chat', choice({ role: 'assistant', content: '' }), 'lifecycle'],
  ['chat', choice({ role: 'assistant', content: null, tool_calls: [] }), 'lifecycle'],
  ['chat', choice({ content: ' ' }), 'content'],
  ['chat', choice({ reasoning_content: 'hm' }), 'content'],
  ['chat', choice({ tool_calls: [{ index: 0 }] }), 'content'],
  ['chat', choice({}, 'stop'), 'content'],
  ['chat', choice({}, 'error'), 'error'],
  ['chat', '{"error":{"message":"busy"}}', 'error'],
  ['chat', '{"error":"busy"}', 'error'],
  ['chat', '{"type":"error","message":"busy"}', 'error'],
  ['chat', '{"choices":[{"index":0,"delta":{},"error":{"code":502}}]}', 'error'],
  ['chat', '{"choices":[{"index":0,"delta":{"content":"a"},"error":null}],"error":null}', 'content'],
  ['chat', '{"broken', 'content'],
  ['completions', '{"choices":[{"text":""}]}', 'lifecycle'],
  ['completions', '{"choices":[{"text":"a"}]}', 'content'],
  ['messages', '{"type":"message_start","message":{}}', 'lifecycle'],
  ['messages', '{"type":"ping"}', 'lifecycle'],
  ['messages', '{"type":"content_block_start","content_block":{"type":"text","text":""}}', 'lifecycle'],
  ['messages', '{"type":"content_block_start","content_block":{"type":"web_search_tool_result"}}', 'content'],
  ['messages', '{"type":"content_block_delta"}', 'content'],
  ['messages', '{"type":"message_stop"}', 'content'],
  ['messages', '{"type":"error","error":{}}', 'error'],
  ['messages', '{"error":{"message":"busy"}}', 'error'],
  ['messages', '{"broken', 'error'],
  ['responses', '{"type":"response.created"}', 'lifecycle'],
  ['responses', '{"type":"response.in_progress"}', 'lifecycle'],
  ['responses', '{"type":"response.output_item.added","item":{"type":"message"}}', 'lifecycle'],
  ['responses', '{"type":"response.output_item.added","item":{"type":"web_search_call"}}', 'content'],
  ['responses', '{"type":"response.content_part.added"}', 'lifecycle'],
  ['responses', '{"type":"response.output_text.delta"}', 'content'],
  ['responses', '{"type":"response.completed"}', 'content'],
  ['responses', '{"type":"response.failed"}', 'error'],
  ['responses', '{"type":"error"}', 'error'],
  ['responses', '{"error":{"message":"busy"}}', 'error'],
  ['responses', '{"type":"response.created","error":null}', 'lifecycle'],
];

test.each(cases)('%s %s: %s', (format, data, meaning) => {
  expect(eventMeaning(format, '', data)).toBe(meaning);
});

test.each([
  ['{"error":{"message":"é","code":429}}', 429, 'é'],
  ['{"error":{"message":"x","code":"rate_limit_exceeded"}}', 429, 'x'],
  ['{"error":{"message":"x","type":"invalid_request_error"}}', 400, 'x'],
  ['{"error":"broken"}', 502, 'broken'],
  ['{"error":{"message":"x","code":"toString"}}', 502, 'x'],
  ['{"error":{"message":"x","code":"constructor","type":"__proto__"}}', 502, 'x'],
  ['{"error":{"code":{"toString":1}}}', 502, 'The model server reported an error.'],
  ['{"type":"error","error":{"type":"overloaded_error","message":"x"}}', 503, 'x'],
  ['no json', 502, 'The model server sent an event that is not a JSON object.'],
  ['{"type":"response.failed","response":{"error":{"code":"server_error","message":"x"}}}', 500, 'x'],
  ['{"type":"error","code":"rate_limit_exceeded","message":"x"}', 429, 'x'],
  ['{"choices":[{"error":{"code":503,"message":"x"},"finish_reason":"error"}]}', 503, 'x'],
  ['{"choices":[{"finish_reason":"error"}]}', 502, 'The model server reported an error.'],
])('%s stands for HTTP %i', (data, status, message) => {
  expect(eventFault(data)).toMatchObject({ status, message });
});
