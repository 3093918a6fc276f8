/** Bytes of an event stream: each chunk one `data:` event, then `[DONE]` unless told otherwise. */
export function chatSse(
  chunks: readonly unknown[],
  options: { readonly done?: boolean; readonly eol?: string } = {},
): Buffer {
  const eol = options.eol ?? '\n';
  const events = chunks.map(
    (chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}${eol}${eol}`,
  );
  return Buffer.from(events.join('') + (options.done === false ? '' : `data: [DONE]${eol}${eol}`));
}

/** A chunk whose only choice has this delta. */
export function delta(fields: object, finish: string | null = null, more: object = {}): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'upstream-model',
    choices: [{ index: 0, delta: fields, finish_reason: finish }],
    ...more,
  };
}

/** A chunk with one piece of a tool call. */
export function call(
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  args?: string,
): object {
  return delta({ tool_calls: [callEntry(index, id, name, args)] });
}

/** One entry of `tool_calls`; undefined fields are left out. */
export function callEntry(
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  args?: string,
): object {
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(args === undefined ? {} : { arguments: args }),
  };
  return {
    ...(index === undefined ? {} : { index }),
    ...(id === undefined ? {} : { id }),
    type: 'function',
    function: body,
  };
}

/** A last chunk without choices that carries usage. */
export function usageChunk(prompt: number, completion: number, more: object = {}): object {
  return {
    id: 'chatcmpl-1',
    choices: [],
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      ...more,
    },
  };
}
