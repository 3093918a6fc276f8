import type { Dispatcher } from 'undici';
import { errorCode } from '../observe/error-text.ts';
import { ApiError, statusError } from './api-error.ts';

type Body = Dispatcher.ResponseData['body'];

const ERROR_BYTES = 64 * 1024;

/**
 * Reads a body of at most `limit` bytes as UTF-8.
 *
 * @throws ApiError `ResponseTooLarge`
 */
export async function readText(body: Body, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // A throw in this loop destroys the body, and with it the connection.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > limit) {
      throw new ApiError(0, 'ResponseTooLarge', `the API server answered with more than ${limit} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Turns an answer that is not 2xx into an ApiError. */
export async function readError(response: Dispatcher.ResponseData): Promise<ApiError> {
  const header = response.headers['retry-after'];
  const text = await readText(response.body, ERROR_BYTES).catch(() => '');
  return statusError(
    response.statusCode,
    parseOrUndefined(text),
    typeof header === 'string' ? header : undefined,
  );
}

/** Passes a body on chunk by chunk; a fault becomes an ApiError, an abort the signal's reason. */
export async function* readStream(body: Body, path: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    signal.throwIfAborted();
    throw new ApiError(0, 'Interrupted', `the answer to ${path} broke off`, { cause: error });
  }
}

/** Converts an error of the network or of TLS to an ApiError. */
export function toApiError(error: unknown, path: string): ApiError {
  if (error instanceof ApiError) return error;
  const named = errorCode(error);
  const code = named === undefined ? '' : ` (${named})`;
  return new ApiError(0, 'Unreachable', `the API server cannot be reached for ${path}${code}`, {
    cause: error,
  });
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
