import { errorText } from '../../observe/error-text.ts';
import { type CircuitReadings, readCircuits } from './readings.ts';

/** Where standalone mode answers probes and metrics unless told otherwise. */
export const defaultAdminURL = 'http://127.0.0.1:9090';
const longestMs = 3_000;

/** Reads the circuits of one gateway from `/metrics` of its admin port. */
export async function adminCircuits(adminURL: string, signal: AbortSignal): Promise<CircuitReadings> {
  try {
    const answer = await fetch(new URL('/metrics', adminURL), {
      signal: AbortSignal.any([signal, AbortSignal.timeout(longestMs)]),
      redirect: 'error',
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
    // Anything may listen there.
    if (!text.includes('modelgateway_build_info')) throw new Error('it is no gateway');
    return { circuits: [readCircuits(new URL(adminURL).host, text)], missing: [] };
  } catch (error) {
    signal.throwIfAborted();
    return {
      circuits: undefined,
      missing: [
        `The circuits are unknown: ${adminURL} was asked in vain (${reasonOf(error)}); is the gateway running, on another port? Name it with --admin-url.`,
      ],
    };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return errorText(error);
  if (error.name === 'TimeoutError') return `no answer in ${longestMs / 1_000} s`;
  // What fetch throws says only that it failed; the cause says how.
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}
