import type { ChatAssistantMessage, ChatCall } from './chat-request.ts';
import type { KeptSignatures } from './kept-signatures.ts';

/**
 * The message with its signatures at the places where the node sent them: Gemini refuses a call without its thought
 * signature. `reasoning_details` contain the reasoning, so it is not sent a second time as text.
 */
export function withSignatures(
  message: ChatAssistantMessage,
  kept: readonly KeptSignatures[],
): ChatAssistantMessage {
  if (kept.length === 0) return message;
  const { reasoning, reasoning_content, ...rest } = message;
  const details = kept.flatMap((each) => each.details ?? []);
  const extra = kept.findLast((each) => each.message !== undefined)?.message;
  const calls = rest.tool_calls?.map((call) => {
    const own = kept.findLast(({ calls }) => calls !== undefined && Object.hasOwn(calls, call.id));
    const { calls = {} } = own ?? {};
    const content = own === undefined ? undefined : calls[call.id];
    return content === undefined ? call : { ...call, extra_content: content };
  });
  return {
    ...(details.length > 0 ? rest : message),
    ...(details.length > 0 ? { reasoning_details: details } : {}),
    ...(extra === undefined ? {} : { extra_content: extra }),
    ...(calls === undefined ? {} : { tool_calls: calls }),
  };
}

/** Whether a call that was signed is not among these: the caller has left it out, and its signature with it. */
export function lacksCall({ calls = {} }: KeptSignatures, present: readonly ChatCall[]): boolean {
  return Object.keys(calls).some((signed) => !present.some(({ id }) => id === signed));
}
