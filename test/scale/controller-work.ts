import { processorSeconds } from '../bench/processor-time.ts';
import { gauge } from './metric-text.ts';
import type { Watched } from './watched.ts';

/** What a controller has done since its start. */
export interface ControllerWork {
  /** Seconds of processor. */
  readonly processor: number;
  /** Statuses written, by server-side apply. */
  readonly statuses: number;
  /** Requests to the API server, all of them: its Lease is renewed every 2 s, whatever there is to do. */
  readonly requests: number;
}

export async function controllerWork({ process }: Watched): Promise<ControllerWork> {
  const { body } = await process.probe('/metrics');
  return {
    processor: processorSeconds(process.pid),
    statuses: gauge(body, 'rest_client_requests_total', { method: 'PATCH' }),
    requests: gauge(body, 'rest_client_requests_total'),
  };
}
