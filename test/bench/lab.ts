import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { imageFlags, imageOptions } from '../support/image-flags.ts';
import { benchKey, writeBigSet, writeSmallSet } from './bench-manifests.ts';
import type { Caller } from './bench-requests.ts';
import { type FastUpstream, startFastUpstream } from './fast-upstream.ts';
import type { BenchOptions } from './options.ts';
import { freePort, type ProcessUnderTest, type StartOptions, startProcess } from './process-under-test.ts';

/** What the rows measure: started when first asked for, the gateway with the big set only by the rows that need it. */
export interface Lab {
  readonly options: BenchOptions;
  readonly upstream: FastUpstream;
  /** A folder that is removed at the end. */
  readonly directory: string;
  bare: () => Promise<ProcessUnderTest>;
  gateway: () => Promise<ProcessUnderTest>;
  /** Further ones that no row has touched; whoever asks for them stops them. */
  fresh: { bare: () => Promise<ProcessUnderTest>; gateway: () => Promise<ProcessUnderTest> };
  /** Starts another proxy, and stops it at the end. */
  launch: (process: StartOptions) => Promise<ProcessUnderTest>;
  bigGateway: () => Promise<ProcessUnderTest>;
  /** Stops it and starts it again on the data folder that it left, with all statuses stored. */
  restartBigGateway: () => Promise<ProcessUnderTest>;
  /** Manifests of the gateway with the big set. */
  readonly bigManifests: string;
  /** Writes one line about what is going on. */
  progress: (line: string) => void;
  stop: () => Promise<void>;
}

/** Pieces of every streamed answer. */
export const streamChunks = 200;

const bareProxy = fileURLToPath(new URL('./bare-proxy.ts', import.meta.url));
const loopProbe = fileURLToPath(new URL('./loop-probe.ts', import.meta.url));
const product = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export async function startLab(options: BenchOptions): Promise<Lab> {
  const upstream = await startFastUpstream(streamChunks);
  const directory = mkdtempSync(join(tmpdir(), 'model-gateway-bench-'));
  const bigManifests = join(directory, 'big');
  const running: Promise<ProcessUnderTest>[] = [];
  const progress = (line: string) => process.stderr.write(`bench: ${line}\n`);

  const results = fileURLToPath(new URL('./results', import.meta.url));
  // The gateway and the bare proxy alike: with the heap that they have in the image.
  const start = (process: StartOptions) => {
    const name = `${process.name.replaceAll(' ', '-')}.cpuprofile`;
    const profile = ['--cpu-prof', '--cpu-prof-dir', results, '--cpu-prof-name', name];
    return startProcess({
      ...process,
      arguments: [...imageFlags, ...(options.profile ? profile : []), ...process.arguments],
      environment: { NODE_OPTIONS: imageOptions },
    });
  };
  // Between asking for a free port and listening on it somebody else may take it.
  const onFreePorts = async (begin: () => Promise<ProcessUnderTest>) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await begin();
      } catch (error) {
        if (attempt === 5 || !String(error).includes('EADDRINUSE')) throw error;
      }
    }
  };
  const startBare = (name: string) => onFreePorts(() => startBareOnce(name));
  const startBareOnce = async (name: string) => {
    const port = await freePort();
    const origin = `http://127.0.0.1:${upstream.port}`;
    const parameters = [bareProxy, String(port), origin];
    return start({
      name,
      arguments: parameters,
      port,
      readyURL: undefined,
      timeoutMilliseconds: 10_000,
    });
  };
  const startGateway = (name: string, manifests: string) =>
    onFreePorts(() => startGatewayOnce(name, manifests));
  const startGatewayOnce = async (name: string, manifests: string) => {
    if (options.gateway === 'bare') return startBare(`${name} (bare stand-in)`);
    const [port, adminPort] = [await freePort(), await freePort()];
    const flags = [
      '--manifests',
      manifests,
      '--data',
      join(directory, `${name}-data`),
      '--log-level',
      'warn',
    ];
    const listen = ['--listen', `127.0.0.1:${port}`, '--admin-listen', `127.0.0.1:${adminPort}`];
    const program = ['--import', loopProbe, product, 'standalone'];
    return start({
      ...{ name, port, arguments: [...program, ...flags, ...listen] },
      readyURL: `http://127.0.0.1:${adminPort}/readyz`,
      timeoutMilliseconds: 120_000,
    });
  };
  const startSmall = (name: string) => {
    writeSmallSet(join(directory, 'small'), upstream.port);
    return startGateway(name, join(directory, 'small'));
  };
  const once = (begin: () => Promise<ProcessUnderTest>) => {
    let started: Promise<ProcessUnderTest> | undefined;
    return () => {
      if (started === undefined) {
        started = begin();
        running.push(started);
      }
      return started;
    };
  };
  const startBig = once(() => {
    const { keys, nodes, modelsPerNode } = options.bigSet;
    progress(`writing manifests of ${keys} keys and ${nodes} nodes × ${modelsPerNode} models`);
    writeSmallSet(bigManifests, upstream.port);
    writeBigSet(bigManifests, upstream.port, options.bigSet);
    progress('starting the gateway with them');
    return startGateway('big', bigManifests);
  });
  let restartedBig: Promise<ProcessUnderTest> | undefined;
  return {
    ...{ options, upstream, directory, bigManifests, progress },
    bare: once(() => startBare('bare')),
    gateway: once(() => startSmall('gateway')),
    fresh: { bare: () => startBare('fresh bare'), gateway: () => startSmall('fresh-gateway') },
    launch: (process) => {
      const started = startProcess(process);
      running.push(started);
      return started;
    },
    bigGateway: () => restartedBig ?? startBig(),
    restartBigGateway: async () => {
      await (await startBig()).stop();
      progress('starting the gateway with the big set again, with all statuses stored');
      restartedBig = startGateway('big', bigManifests);
      running.push(restartedBig);
      return restartedBig;
    },
    stop: async () => {
      const started = await Promise.allSettled(running);
      await Promise.all(
        started.map((result) => (result.status === 'fulfilled' ? result.value.stop() : undefined)),
      );
      upstream.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** How to call one of the processes, or the upstream itself. */
export function callerOf(target: { port: number }): Caller {
  return { port: target.port, key: benchKey };
}
