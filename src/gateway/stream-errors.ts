import type { GatewayError } from './errors.ts';
import type { CallerFormat } from './route.ts';

/** What is known of a responses stream, for the event that ends it. */
export interface ResponseSoFar {
  readonly id: string;
  readonly model: string | null;
  readonly createdAt: number;
  /** The last `sequence_number` that was sent; -1 for none. */
  readonly sequence: number;
}

/** The end of a stream that failed after it had begun, in the caller's format (formats: Failure and cancellation). */
export function streamError(
  format: CallerFormat,
  error: GatewayError,
  soFar: ResponseSoFar | undefined,
): string {
  const { entry, message } = error;
  const code = entry.code ?? 'server_error';
  if (format === 'messages') {
    return `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: entry.anthropicType, message } })}\n\n`;
  }
  if (format !== 'responses') {
    return `data: ${JSON.stringify({ error: { message, type: entry.type, param: null, code } })}\n\n`;
  }
  const next = (soFar?.sequence ?? -1) + 1;
  const first = {
    type: 'error',
    sequence_number: next,
    error: { type: entry.type, code, message, param: null },
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
