import { describe, expect, it } from 'vitest';
import { ConversionError } from '../../../src/convert/conversion-error.ts';
import { messagesFailure, messagesRefusal } from '../../../src/convert/messages-errors.ts';
import { convertMessagesRequest } from '../../../src/convert/messages-request.ts';
import { openAIFailure, openAIRefusal } from '../../../src/convert/openai-errors.ts';
import { missing, wrongType } from '../../../src/convert/request-fields.ts';
import { readUpstreamError } from '../../../src/convert/upstream-error.ts';
import { options, request } from './messages-fixtures.ts';

const said = '{"error":{"message":"no"}}';

const rows: readonly [
  status: number,
  anthropicStatus: number,
  anthropicType: string,
  openAIStatus: number,
  openAIType: string,
  code: string,
][] = [
  [400, 400, 'invalid_request_error', 400, 'invalid_request_error', 'invalid_value'],
  [401, 502, 'api_error', 502, 'server_error', 'upstream_error'],
  [402, 402, 'billing_error', 402, 'insufficient_quota', 'insufficient_quota'],
  [403, 502, 'api_error', 502, 'server_error', 'upstream_error'],
  [404, 404, 'not_found_error', 404, 'invalid_request_error', 'model_not_found'],
  [405, 405, 'invalid_request_error', 405, 'invalid_request_error', 'invalid_value'],
  [408, 408, 'timeout_error', 408, 'timeout_error', 'timeout'],
  [409, 409, 'conflict_error', 409, 'conflict_error', 'conflict'],
  [413, 413, 'request_too_large', 413, 'invalid_request_error', 'request_too_large'],
  [415, 415, 'invalid_request_error', 415, 'invalid_request_error', 'invalid_value'],
  [422, 400, 'invalid_request_error', 400, 'invalid_request_error', 'invalid_value'],
  [429, 429, 'rate_limit_error', 429, 'rate_limit_error', 'rate_limit_exceeded'],
  [500, 500, 'api_error', 500, 'server_error', 'server_error'],
  [502, 502, 'api_error', 502, 'server_error', 'upstream_error'],
  [503, 529, 'overloaded_error', 503, 'server_error', 'service_unavailable'],
  [504, 504, 'timeout_error', 504, 'server_error', 'timeout'],
  [520, 520, 'api_error', 520, 'server_error', 'server_error'],
  [529, 529, 'overloaded_error', 503, 'server_error', 'overloaded'],
];

describe('upstream failures', () => {
  it.each(rows)('status %i', (status, anthropicStatus, anthropicType, openAIStatus, openAIType, code) => {
    const fault = readUpstreamError(status, said);
    expect(messagesFailure(fault)).toEqual({
      status: anthropicStatus,
      body: { type: 'error', error: { type: anthropicType, message: 'no' } },
    });
    expect(openAIFailure(fault)).toEqual({
      status: openAIStatus,
      body: { error: { message: 'no', type: openAIType, param: null, code } },
    });
  });

  it.each([
    ['OpenAI', '{"error":{"message":"no","type":"t","code":"c"}}', 'no'],
    ['vLLM', '{"object":"error","message":"no","type":"BadRequestError","code":400}', 'no'],
    ['FastAPI text', '{"detail":"no"}', 'no'],
    [
      'FastAPI list',
      '{"detail":[{"loc":["body","messages",0],"msg":"no"},{"msg":"nor this"}]}',
      'body.messages.0: no; nor this',
    ],
    ['Google', '[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}]', 'no'],
    ['error text', '{"error":"no"}', 'no'],
    ['error without message', '{"error":{"code":7}}', 'The model server answered 400 Bad Request'],
    ['HTML', '<html>no</html>', 'The model server answered 400 Bad Request'],
    ['empty', '', 'The model server answered 400 Bad Request'],
    ['null', 'null', 'The model server answered 400 Bad Request'],
  ])('body of %s', (_, body, message) => {
    expect(readUpstreamError(400, body).message).toBe(message);
  });

  it('6.59 reads an error wrapped in a list, its code as text', () => {
    const fault = readUpstreamError(
      429,
      '[{"error":{"code":429,"message":"no","status":"RESOURCE_EXHAUSTED"}}]',
    );
    expect([fault.message, fault.code]).toEqual(['no', '429']);
  });

  it.each([
    [
      '{"error":{"message":"This model\'s maximum context length is 8192 tokens","code":"context_length_exceeded"}}',
      400,
    ],
    [
      '{"object":"error","message":"This model\'s maximum context length is 8192 tokens. However, you requested 9000","code":400}',
      400,
    ],
    [
      '{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error","code":400}}',
      400,
    ],
    ['{"error":{"message":"prompt is too long: 9000 tokens > 8192 maximum"}}', 413],
  ])('context overflow: %s', (body, status) => {
    const fault = readUpstreamError(status, body);
    const { status: answered, body: answer } = messagesFailure(fault);
    expect(answered).toBe(400);
    expect(answer).toMatchObject({
      error: { type: 'invalid_request_error', message: expect.stringMatching(/^prompt is too long/) },
    });
    expect(openAIFailure(fault)).toMatchObject({
      status: 400,
      body: { error: { code: 'context_length_exceeded' } },
    });
  });

  it.each([
    'Incorrect API key provided: sk-proj-abcdef123456. Find it at https://platform.example/keys',
    'connect ECONNREFUSED http://10.1.2.3:8000/v1/chat/completions',
    'node 10.1.2.3:8000 refused',
    'dial tcp: vllm.models.svc:8000 refused, localhost:11434 too',
    'header Authorization: Bearer abc.def-123',
  ])('shows no address and no credential: %s', (message) => {
    const shown = readUpstreamError(500, JSON.stringify({ error: { message } })).message;
    expect(shown).not.toMatch(/sk-proj|10\.1\.2\.3|https?:|abc\.def|svc|localhost/);
  });

  it('bounds the message', () => {
    const message = readUpstreamError(
      400,
      JSON.stringify({ error: { message: 'x'.repeat(1_000_000) } }),
    ).message;
    expect(message.length).toBeLessThan(2_100);
  });
});

describe('refusals', () => {
  it.each([
    [{ type: 'create' }, 400, 'invalid_request_error', 'thread_unsupported_request', /^thread: /],
    [
      { type: 'continue', previous_message_id: 'msg_1' },
      404,
      'not_found_error',
      'thread_not_found',
      /^thread.previous_message_id: /,
    ],
  ])('of a held conversation make the SDKs send the whole one: %o', (thread, status, type, code, message) => {
    const convert = () => convertMessagesRequest(request({ thread, messages: [] }), options());
    const refusal = (): unknown => {
      try {
        return convert();
      } catch (error) {
        return messagesRefusal(error as ConversionError);
      }
    };
    expect(refusal()).toEqual({
      status,
      body: {
        type: 'error',
        error: { type, message: expect.stringMatching(message), details: { error_code: code } },
      },
    });
  });

  it('speak as Anthropic', () => {
    expect(messagesRefusal(missing('messages[0].content[2].text'))).toEqual({
      status: 400,
      body: {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'messages.0.content.2.text: Field required' },
      },
    });
    const plain = new ConversionError({ code: 'x', param: null, reason: 'no' });
    expect(messagesRefusal(plain).body).toMatchObject({ error: { message: 'no' } });
  });

  it('speak as OpenAI', () => {
    expect(openAIRefusal(missing('model'))).toEqual({
      status: 400,
      body: {
        error: {
          message: "Missing required parameter: 'model'.",
          type: 'invalid_request_error',
          param: 'model',
          code: 'missing_required_parameter',
        },
      },
    });
    expect(openAIRefusal(wrongType('input[0].content', 'string', 3)).body).toMatchObject({
      error: {
        message: "Invalid type for 'input[0].content': expected a string, but got an integer instead.",
        code: 'invalid_type',
      },
    });
  });
});
