import { errorText } from '../../observe/error-text.ts';
import { type CircuitReadings, readCircuits } from './readings.ts';

/** The default address of probes and metrics in standalone mode. */
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
    // Another program may listen there.
    if (!text.includes('modelgateway_build_info')) throw new Error('this is not a gateway');
    return { circuits: [readCircuits(new URL(adminURL).host, text)], missing: [] };
  } catch (error) {
    signal.throwIfAborted();
    return {
      circuits: undefined,
      missing: [
        `The circuits are unknown: ${adminURL} could not be read (${reasonOf(error)}). If the gateway has another admin address, name it with --admin-url.`,
      ],
    };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return errorText(error);
  if (error.name === 'TimeoutError') return `no answer in ${longestMs / 1_000} s`;
  // The error of fetch says only that it failed; its cause says why.
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}
