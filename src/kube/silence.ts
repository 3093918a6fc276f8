import { ApiError } from './api-error.ts';
import type { ApiStream, KubeClient } from './client.ts';
import type { Clock } from './clock.ts';

/** More than one bookmark period (a minute): a connection that is silent for longer is broken. */
const silenceMs = 100_000;

/**
 * Yields the pieces of a long answer as they arrive. `onOpen` is called once the server has accepted the request.
 *
 * @throws ApiError as `KubeClient.stream` does; status 0 with reason `Silent` after 100 s without a byte; the signal's reason when
 *   it aborted
 */
export async function* streamUnlessSilent(
  client: KubeClient,
  request: ApiStream,
  clock: Clock,
  onOpen?: () => void,
): AsyncGenerator<Uint8Array> {
  const silence = new AbortController();
  const silent = new ApiError(0, 'Silent', `the answer to ${request.path} was silent for ${silenceMs} ms`);
  const wait = () => clock.after(silenceMs, () => silence.abort(silent));
  let cancel = wait();
  try {
    const signal = AbortSignal.any([request.signal, silence.signal]);
    const stream = await client.stream({ ...request, signal });
    onOpen?.();
    for await (const bytes of stream) {
      cancel();
      cancel = wait();
      yield bytes;
    }
  } finally {
    cancel();
  }
}
