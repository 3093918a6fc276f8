import type { ChatAnswer } from './chat-reply.ts';

/** The end of an answer as Messages says it. */
export interface MessagesStop {
  readonly stop_reason: 'end_turn' | 'stop_sequence' | 'tool_use' | 'max_tokens' | 'refusal';
  readonly stop_sequence: string | null;
  readonly stop_details: object | null;
}

/** What decides the stop reason besides the node's `finish_reason`. */
export interface StopFacts extends Pick<ChatAnswer, 'finish' | 'stopString'> {
  /** Whether a tool_use block is part of the message. */
  readonly usedTool: boolean;
  readonly refused: boolean;
  readonly stopSequences: readonly string[];
}

/** The table of formats, finish_reason: a tool that was called makes `tool_use`, whatever the node said, unless it was cut. */
export function messagesStop(facts: StopFacts): MessagesStop {
  const { finish, stopString, usedTool, refused, stopSequences } = facts;
  if (finish === 'length') return plain('max_tokens');
  if (finish === 'filter' || refused)
    return {
      stop_reason: 'refusal',
      stop_sequence: null,
      stop_details: refusalDetails,
    };
  if (usedTool) return plain('tool_use');
  if (stopString !== undefined && stopSequences.includes(stopString))
    return { stop_reason: 'stop_sequence', stop_sequence: stopString, stop_details: null };
  return plain('end_turn');
}

/** Every member that the types require; null where chat-completions has no value. */
const refusalDetails = {
  type: 'refusal',
  category: null,
  explanation: null,
  recommended_model: null,
  fallback_credit_token: null,
  fallback_has_prefill_claim: null,
};

function plain(reason: MessagesStop['stop_reason']): MessagesStop {
  return { stop_reason: reason, stop_sequence: null, stop_details: null };
}
