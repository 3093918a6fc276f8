import type { GatewayError } from './errors.ts';

/** The two families of error bodies. */
export type ErrorShape = 'openai' | 'anthropic';

/** An error ready to be written: status, JSON body and the `retry-after` that goes with it. */
export interface WireError {
  readonly status: number;
  readonly body: string;
  readonly retryAfterSeconds: number | undefined;
}

/** The shape of errors for a path: Anthropic's under `/v1/messages`, else OpenAI's. */
export function errorShapeOf(path: string): ErrorShape {
  return /^\/v1\/messages(?:[/?#]|$)/.test(path) ? 'anthropic' : 'openai';
}

/** An error of the catalogue in the given shape. */
export function wireError(error: GatewayError, shape: ErrorShape, requestId: string): WireError {
  const { entry } = error;
  const status = shape === 'anthropic' ? (entry.anthropicStatus ?? entry.status) : entry.status;
  return { status, body: errorBody(error, shape, requestId), retryAfterSeconds: entry.retryAfterSeconds };
}

function errorBody(error: GatewayError, shape: ErrorShape, requestId: string): string {
  const { entry, message, param } = error;
  if (shape === 'openai')
    return JSON.stringify({ error: { message, type: entry.type, param, code: entry.code } });
  return JSON.stringify({
    type: 'error',
    error: { type: entry.anthropicType, message },
    request_id: requestId,
  });
}
