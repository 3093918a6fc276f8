import { plainRequest } from '../bench/bench-requests.ts';
import { runPacedLoad } from '../bench/paced-load.ts';
import { keyText, modelNames, type SetSize } from './population.ts';

/** A connection on which nothing was asked yet is closed by the gateway after a while, with a 408: each window opens its own. */
const windowMs = 10_000;

/** Latencies in milliseconds, by windows of ten seconds or less. */
export type Latencies = readonly (readonly number[])[];

/** Completions asked of a gateway (base URL) at a fixed rate, by the last key of a set. */
export function requestLoad(gateway: string, size: SetSize, perSecond: number) {
  const port = Number(new URL(gateway).port);
  const [model = ''] = modelNames(0, 1);
  // The last key is never changed.
  const request = asking(plainRequest({ port, key: keyText(size.keys - 1) }, 1_000), model);
  return async (milliseconds: number): Promise<Latencies> => {
    const count = Math.max(1, Math.round(milliseconds / windowMs));
    const window = { port, rate: perSecond, milliseconds: milliseconds / count, request, expected: {} };
    const windows: number[][] = [];
    while (windows.length < count) windows.push(await runPacedLoad(window));
    return windows;
  };
}

/** The same request for another model. */
function asking(request: Buffer, model: string): Buffer {
  const [head = '', body = ''] = request.toString().split('\r\n\r\n');
  const text = JSON.stringify({ ...(JSON.parse(body) as object), model });
  const length = `Content-Length: ${Buffer.byteLength(text)}`;
  return Buffer.from(`${head.replace(/Content-Length: \d+/, length)}\r\n\r\n${text}`);
}
