/** Streams that were opened together and go on. */
export interface OpenStreams {
  /** How many have got their first bytes. */
  flowing(): number;
  /** Waits for all to end, and answers what went wrong, one text each. */
  ended(): Promise<string[]>;
}

/** Opens `count` streamed chats for `model` at once, each on a connection of its own. A stream must end with `[DONE]`. */
export function openStreams(baseURL: string, key: string, model: string, count: number): OpenStreams {
  let flowing = 0;
  const one = async (number: number): Promise<string | undefined> => {
    let text = '';
    try {
      const answer = await fetch(`${baseURL}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Go on' }] }),
        signal: AbortSignal.timeout(240_000),
      });
      const decoder = new TextDecoder();
      for await (const chunk of answer.body ?? []) {
        if (text === '') flowing += 1;
        text += decoder.decode(chunk, { stream: true });
      }
      if (answer.status !== 200) return `stream ${number}: HTTP ${answer.status}: ${text.slice(0, 300)}`;
      return text.endsWith('data: [DONE]\n\n')
        ? undefined
        : `stream ${number} is cut off: ${text.slice(-200)}`;
    } catch (error) {
      return `stream ${number} after ${text.length} characters: ${String(error)}`;
    }
  };
  const all = Promise.all(Array.from({ length: count }, (_, number) => one(number)));
  return {
    flowing: () => flowing,
    ended: async () => (await all).filter((failure) => failure !== undefined),
  };
}
