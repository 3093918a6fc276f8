import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../api-client.ts';
import type { Guard } from '../guard.ts';
import { type ContainerProcess, startContainerProcess } from './container-process.ts';
import { environmentOf, expand } from './environment.ts';
import type { Container, Pod } from './pod.ts';
import { type ContainerState, podStatus } from './pod-status.ts';
import { runProbes } from './probes.ts';
import { sandboxCommand, standInKubeconfig, userOf } from './sandbox.ts';
import { makeVolumes, type Volumes } from './volumes.ts';

const retryMs = 250;
const volumesEveryMs = 1_000;
const firstBackoffMs = 1_000;
const greatestBackoffMs = 10_000;

export interface RunPod {
  readonly pod: Pod;
  readonly podIP: string;
  readonly folder: string;
  readonly client: ApiClient;
  readonly apiServer: URL;
  readonly namesFile: string;
  readonly guard: Guard;
  readonly say: (line: string) => void;
}

/** A pod that runs here. */
export interface RunningPod {
  /** The process of its container; undefined while there is none. */
  readonly process: () => ContainerProcess | undefined;
  /** Everything that its containers printed, restarts included. */
  readonly lines: () => readonly string[];
  readonly podIP: string;
  /** Holds `volumes/NAME` for each of its volumes. */
  readonly folder: string;
  /** Ends it as `kubectl delete` does: preStop, SIGTERM, SIGKILL after the grace. Settles when it has ended. */
  end(graceSeconds: number): Promise<void>;
  /** Settles when it will not run again. */
  readonly done: Promise<void>;
}

/** Starts a pod's container and keeps it running as its `restartPolicy` says, writing its status. Never throws. */
export function runPod(run: RunPod): RunningPod {
  const { pod, podIP, client } = run;
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error(`pod ${pod.metadata.name} has no container`);
  const stopping = new AbortController();
  const past: string[] = [];
  let volumes: Volumes | undefined;
  let current: ContainerProcess | undefined;
  let state: ContainerState = {
    phase: 'Pending',
    ready: false,
    started: false,
    restarts: 0,
    reason: 'ContainerCreating',
  };
  const startTime = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  let reporting = Promise.resolve();

  /** Writes the status, one write after the other, the newest state each time. */
  const report = (change: Partial<ContainerState>): Promise<void> => {
    state = { ...state, ...change };
    reporting = reporting.then(async () => {
      const path = `/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}/status`;
      const status = podStatus(pod, container, podIP, startTime, state);
      await client
        .send('PATCH', path, { body: { metadata: { uid: pod.metadata.uid }, status } })
        .catch(() => undefined);
    });
    return reporting;
  };

  const done = work().catch((error: unknown) => run.say(`pod ${pod.metadata.name}: ${String(error)}`));
  return {
    podIP,
    folder: run.folder,
    process: () => current,
    lines: () => [...past, ...(current?.lines ?? [])],
    done,
    async end(graceSeconds) {
      const deadline = Date.now() + graceSeconds * 1_000;
      const preStop = container.lifecycle?.preStop?.sleep?.seconds ?? 0;
      stopping.abort();
      // `current` is gone once it has ended.
      const running = current;
      if (running !== undefined) {
        await Promise.race([
          sleep(Math.min(preStop, graceSeconds) * 1_000, undefined, { ref: false }),
          running.exited,
        ]);
        running.signal('SIGTERM');
        const killer = setTimeout(() => running.signal('SIGKILL'), Math.max(0, deadline - Date.now()));
        await running.exited;
        clearTimeout(killer);
      }
      await done;
    },
  };

  async function work(): Promise<void> {
    await report({});
    const of = await prepared();
    const keepVolumes = keepFresh(of.volumes);
    for (
      let backoff = firstBackoffMs;
      !stopping.signal.aborted;
      backoff = Math.min(backoff * 2, greatestBackoffMs)
    ) {
      const code = await runOnce(of);
      const again =
        pod.spec.restartPolicy === 'Always' || (pod.spec.restartPolicy === 'OnFailure' && code !== 0);
      if (stopping.signal.aborted || !again) {
        await report({ phase: code === 0 ? 'Succeeded' : 'Failed', ready: false, exitCode: code });
        break;
      }
      run.say(`container of ${pod.metadata.name} ended with ${code}; it is started again`);
      await report({ ready: false, started: false, reason: 'CrashLoopBackOff', lastExitCode: code });
      await sleep(backoff, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
      state = { ...state, restarts: state.restarts + 1 };
    }
    stopping.abort();
    await keepVolumes;
  }

  /** Waits for what the pod names, as a pod in ContainerCreating does. */
  async function prepared(): Promise<{ volumes: Volumes; env: Record<string, string> }> {
    for (;;) {
      try {
        volumes ??= await makeVolumes({
          ...run,
          folder: join(run.folder, 'volumes'),
          owner: userOf(pod, container as Container),
        });
        await volumes.refresh();
        return {
          volumes,
          env: await environmentOf(pod, container as Container, podIP, client, run.apiServer),
        };
      } catch (error) {
        if (stopping.signal.aborted) throw error;
        await report({ reason: 'ContainerCreating', message: String(error) });
        await sleep(retryMs, undefined, { ref: false });
      }
    }
  }

  async function keepFresh(fresh: Volumes): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(volumesEveryMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
      // The API server may be away, or the object gone: the container keeps what it has.
      await fresh.refresh().catch(() => undefined);
    }
  }

  async function runOnce({ env }: { env: Record<string, string> }): Promise<number> {
    const of = {
      ...run,
      container: container as Container,
      env,
      args: (container?.args ?? []).map((argument) => expand(argument, env)),
      volumes: join(run.folder, 'volumes'),
    };
    await mkdir(run.folder, { recursive: true });
    const kubeconfig = standInKubeconfig(of);
    if (kubeconfig !== undefined)
      await writeFile(join(run.folder, 'kubeconfig'), kubeconfig, { mode: 0o600 });
    current = startContainerProcess(sandboxCommand(of), run.guard);
    const { exited, signal } = current;
    const probing = new AbortController();
    await report({
      phase: 'Running',
      reason: undefined,
      message: undefined,
      startedAt: new Date().toISOString(),
    });
    const probes = runProbes(
      container as Container,
      podIP,
      AbortSignal.any([probing.signal, stopping.signal]),
      {
        started: () => void report({ started: true }),
        ready: (ready, why) => void report({ ready, message: why || undefined }),
        failed(why) {
          run.say(`${pod.metadata.name}: ${why}`);
          signal('SIGTERM');
          setTimeout(() => signal('SIGKILL'), 30_000).unref();
        },
      },
    );
    const code = await exited;
    probing.abort();
    await probes;
    past.push(...current.lines);
    current = undefined;
    return code;
  }
}
