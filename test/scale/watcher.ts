// A thread that holds watches open and reads what comes, without looking at it: a gateway to the API server, at little cost here.
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { parentPort, workerData } from 'node:worker_threads';
import { parse } from 'yaml';
import { z } from 'zod';
import type { ControlPlaneAddress } from '../support/control-plane.ts';

export interface WatcherOptions {
  readonly address: ControlPlaneAddress;
  /** Path and query of the watch. */
  readonly path: string;
  readonly watches: number;
}

const kubeconfigSchema = z.object({
  users: z.tuple([
    z.object({ user: z.object({ 'client-certificate-data': z.string(), 'client-key-data': z.string() }) }),
  ]),
});

const { address, path, watches } = workerData as WatcherOptions;
const [{ user }] = kubeconfigSchema.parse(parse(readFileSync(address.kubeconfig, 'utf8'))).users;
const pem = (data: string) => Buffer.from(data, 'base64').toString('utf8');
const identity = { cert: pem(user['client-certificate-data']), key: pem(user['client-key-data']) };
for (let number = 0; number < watches; number += 1) {
  await new Promise<void>((resolve, reject) => {
    const asked = request(address.url + path, { ca: address.ca, ...identity, agent: false }, (response) => {
      response.resume();
      if (response.statusCode === 200) resolve();
      else reject(new Error(`the watch was refused: HTTP ${response.statusCode}`));
    });
    asked.once('error', reject);
    asked.end();
  });
}
parentPort?.postMessage('open');
