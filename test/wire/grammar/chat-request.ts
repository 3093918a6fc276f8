// What a strict chat-completions server takes, written without a look at the code that makes requests for it.

type Json = Record<string, unknown>;

const fields = new Set([
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'temperature',
  'top_p',
  'top_k',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'reasoning_effort',
  'verbosity',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
  'service_tier',
  'stream',
  'stream_options',
]);

const messageFields: Record<string, readonly string[]> = {
  system: ['role', 'content'],
  developer: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'refusal', 'reasoning_content', 'reasoning', 'tool_calls'],
  tool: ['role', 'tool_call_id', 'content'],
};

/** Checks a chat-completions request as a strict server would. Throws an Error that names the rule and the place. */
export function checkChatRequest(value: unknown): void {
  const request = JSON.parse(JSON.stringify(value)) as Json;
  for (const field of Object.keys(request)) must(fields.has(field), `unknown field ${field}`);
  must(typeof request['model'] === 'string', 'model is no text');
  const messages = request['messages'] as Json[];
  must(Array.isArray(messages) && messages.length > 0, 'messages is empty');
  checkTools(request);
  checkMessages(messages);
  if (request['stream'] === true)
    must(
      JSON.stringify(request['stream_options']) === '{"include_usage":true}',
      'stream without include_usage',
    );
}

function checkTools(request: Json): void {
  const tools = request['tools'] as Json[] | undefined;
  if (tools === undefined) {
    must(request['tool_choice'] === undefined, 'tool_choice without tools');
    must(request['parallel_tool_calls'] === undefined, 'parallel_tool_calls without tools');
    return;
  }
  must(tools.length > 0, 'tools is empty');
  const names = new Set<unknown>();
  for (const [index, tool] of tools.entries()) {
    const body = tool['function'] as Json;
    must(tool['type'] === 'function', `tools[${index}] is no function`);
    must(
      /^[a-zA-Z0-9_-]{1,64}$/.test(String(body['name'])),
      `tools[${index}] has the name ${String(body['name'])}`,
    );
    must(!names.has(body['name']), `tools[${index}] has the name of another`);
    must(
      typeof body['parameters'] === 'object' && body['parameters'] !== null,
      `tools[${index}] has no parameters`,
    );
    names.add(body['name']);
  }
  const choice = request['tool_choice'] as Json | string | undefined;
  if (typeof choice !== 'object')
    must(choice === undefined || ['auto', 'none', 'required'].includes(choice), `tool_choice ${choice}`);
  else must(names.has((choice['function'] as Json)['name']), 'tool_choice names no tool');
}

function checkMessages(messages: readonly Json[]): void {
  let open: string[] = [];
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    const role = String(message['role']);
    const known = messageFields[role];
    must(known !== undefined, `${at} has the role ${role}`);
    for (const field of Object.keys(message))
      must(known?.includes(field) ?? false, `${at} has the field ${field}`);
    if (role === 'tool') {
      must(open.includes(String(message['tool_call_id'])), `${at} answers no call just before`);
      // Later calls may be answered, earlier ones no more: results stand in the order of the calls.
      open = open.slice(open.indexOf(String(message['tool_call_id'])) + 1);
      checkContent(message['content'], at, ['text', 'image_url']);
      continue;
    }
    open = [];
    if (role === 'assistant') open = checkAssistant(message, at);
    else if (role === 'user')
      checkContent(message['content'], at, ['text', 'image_url', 'file', 'input_audio']);
    else must(typeof message['content'] === 'string' && message['content'] !== '', `${at} is empty`);
  }
}

function checkAssistant(message: Json, at: string): string[] {
  const calls = message['tool_calls'] as Json[] | undefined;
  const content = message['content'];
  must(content === null || typeof content === 'string', `${at}.content is no text`);
  must(content !== null || calls !== undefined, `${at} says nothing`);
  must(calls === undefined || calls.length > 0, `${at}.tool_calls is empty`);
  const ids = (calls ?? []).map((call) => {
    const body = call['function'] as Json;
    must(call['type'] === 'function' && typeof call['id'] === 'string', `${at} has an odd call`);
    must(/^[a-zA-Z0-9_-]{1,64}$/.test(String(body['name'])), `${at} calls ${String(body['name'])}`);
    const input = JSON.parse(String(body['arguments'])) as unknown;
    must(
      typeof input === 'object' && input !== null && !Array.isArray(input),
      `${at} has arguments that are no object`,
    );
    return String(call['id']);
  });
  must(new Set(ids).size === ids.length, `${at} has an id twice`);
  return ids;
}

function checkContent(content: unknown, at: string, kinds: readonly string[]): void {
  if (typeof content === 'string') return;
  must(Array.isArray(content) && content.length > 0, `${at}.content is empty`);
  for (const part of content as Json[]) {
    must(kinds.includes(String(part['type'])), `${at} holds a part ${String(part['type'])}`);
    if (part['type'] === 'text')
      must(typeof part['text'] === 'string' && part['text'] !== '', `${at} holds an empty text`);
  }
}

function must(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new Error(rule);
}
