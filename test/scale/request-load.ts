import { plainRequest } from '../bench/bench-requests.ts';
import { runPacedLoad } from '../bench/paced-load.ts';
import { keyText, modelNames, type SetSize } from './population.ts';

const pieceMs = 10_000;

/** Completions asked of a gateway (base URL) at a fixed rate, by the last key of a set; answers their latencies in milliseconds. */
export function requestLoad(gateway: string, size: SetSize, perSecond: number) {
  const port = Number(new URL(gateway).port);
  const [model = ''] = modelNames(0, 1);
  // The last key is never changed.
  const request = asking(plainRequest({ port, key: keyText(size.keys - 1) }, 1_000), model);
  return async (milliseconds: number): Promise<number[]> => {
    const latencies: number[] = [];
    const ends = performance.now() + milliseconds;
    // In pieces: a connection on which nothing was asked yet is closed by the gateway after a while, with a 408.
    for (let left = milliseconds; left > 0; left = ends - performance.now()) {
      const piece = { port, rate: perSecond, milliseconds: Math.min(left, pieceMs), request };
      for (const latency of await runPacedLoad({ ...piece, expected: {} })) latencies.push(latency);
    }
    return latencies;
  };
}

/** The same request for another model. */
function asking(request: Buffer, model: string): Buffer {
  const [head = '', body = ''] = request.toString().split('\r\n\r\n');
  const text = JSON.stringify({ ...(JSON.parse(body) as object), model });
  const length = `Content-Length: ${Buffer.byteLength(text)}`;
  return Buffer.from(`${head.replace(/Content-Length: \d+/, length)}\r\n\r\n${text}`);
}
