import { messagesError } from '../../convert/messages-errors.ts';
import { openAIError } from '../../convert/openai-errors.ts';
import { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { CallerFormat } from '../../routing/caller-format.ts';
import type { GatewayError } from '../errors/errors.ts';

/** What is known of a Responses stream, for the event that ends it. */
export interface ResponseSoFar {
  readonly id: string;
  readonly model: string | null;
  readonly createdAt: number;
  /** The last `sequence_number` that was sent; -1 for none. */
  readonly sequence: number;
}

/**
 * The last events of a stream that failed after it had begun, in the caller's format. `response.failed` has `output: []`,
 * because bytes that are passed through are not kept.
 */
export function streamError(
  format: CallerFormat,
  failure: GatewayError | UpstreamFault,
  soFar: ResponseSoFar | undefined,
): string {
  if (format === 'messages') {
    const error = failure instanceof UpstreamFault ? messagesError(failure).error : anthropicWords(failure);
    return `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`;
  }
  const error = failure instanceof UpstreamFault ? openAIError(failure).error : openAIWords(failure);
  if (format !== 'responses') return `data: ${JSON.stringify({ error })}\n\n`;
  const { type, message } = error;
  const code = error.code ?? 'server_error';
  const next = (soFar?.sequence ?? -1) + 1;
  const first = {
    type: 'error',
    sequence_number: next,
    error: { type, code, message, param: null },
  };
  const last = {
    type: 'response.failed',
    sequence_number: next + 1,
    response: {
      id: soFar?.id ?? 'resp_failed',
      object: 'response',
      created_at: soFar?.createdAt ?? 0,
      status: 'failed',
      error: { code, message },
      incomplete_details: null,
      model: soFar?.model ?? null,
      output: [],
      usage: null,
    },
  };
  return `event: error\ndata: ${JSON.stringify(first)}\n\nevent: response.failed\ndata: ${JSON.stringify(last)}\n\n`;
}

function anthropicWords({ entry, message }: GatewayError) {
  return { type: entry.anthropicType, message };
}

function openAIWords({ entry, message }: GatewayError) {
  return { message, type: entry.type, param: null, code: entry.code ?? 'server_error' };
}
