import { writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../api-client.ts';
import type { ControlPlaneAddress } from '../control-plane.ts';
import type { Guard } from '../guard.ts';
import { loopbackAddresses } from './addresses.ts';
import { notUnderstood, type Pod } from './pod.ts';
import { type RunningPod, runPod } from './run-pod.ts';
import { type ServiceProxy, startServiceProxy } from './service-proxy.ts';

const pollEveryMs = 150;
const nodeName = 'test-node';

/** Scheduler, kubelet and kube-proxy of a cluster with one node, which is this machine. */
export interface Kubelet extends AsyncDisposable {
  /** The pods of a namespace that run here and whose names start so, oldest first. */
  pods(namespace: string, prefix: string): (RunningPod & { readonly name: string })[];
  readonly services: ServiceProxy;
  stop(): Promise<void>;
}

export interface KubeletOptions {
  readonly address: ControlPlaneAddress;
  readonly client: ApiClient;
  readonly guard: Guard;
  readonly say?: (line: string) => void;
}

/**
 * Runs each pod of the cluster as a local process (see `sandbox.ts`) and writes its status, until stopped. It looks at
 * the API server every 150 ms. A pod that asks for something that is not understood fails, saying what.
 */
export function startKubelet({ address, client, guard, say = () => undefined }: KubeletOptions): Kubelet {
  const folder = join(address.folder, `kubelet-${process.pid}`);
  const namesFile = join(address.folder, `names-${process.pid}.json`);
  writeFileSync(namesFile, '{}', { mode: 0o644 });
  const newAddress = loopbackAddresses();
  const services = startServiceProxy(client, namesFile, newAddress);
  const running = new Map<string, RunningPod & { name: string; namespace: string }>();
  const ending = new Set<string>();
  const stopping = new AbortController();
  const path = ({ metadata }: Pod, more = '') =>
    `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}${more}`;

  async function look(): Promise<void> {
    const { items } = (await client.ask('GET', '/api/v1/pods')) as { items: Pod[] };
    for (const pod of items) await take(pod);
    const known = new Set(items.map(({ metadata }) => metadata.uid));
    // Deleted with force: there is nobody left to be polite to.
    for (const [uid, pod] of running) if (!known.has(uid) && !ending.has(uid)) end(uid, pod, 0);
    await services.refresh();
  }

  async function take(pod: Pod): Promise<void> {
    const { uid, name, namespace, deletionTimestamp, deletionGracePeriodSeconds = 30 } = pod.metadata;
    const known = running.get(uid);
    if (deletionTimestamp !== undefined) {
      if (ending.has(uid)) return;
      if (known === undefined) return void (await remove(pod));
      end(uid, known, deletionGracePeriodSeconds, pod);
    } else if (pod.spec.nodeName === undefined) {
      const target = { apiVersion: 'v1', kind: 'Node', name: nodeName };
      await client.send('POST', path(pod, '/binding'), { body: { metadata: { name }, target } });
    } else if (known === undefined && pod.status?.phase === 'Pending') {
      const gaps = notUnderstood(pod);
      if (gaps.length > 0) {
        const message = `this kubelet does not understand: ${gaps.join(', ')}`;
        say(`pod ${name}: ${message}`);
        await client.send('PATCH', path(pod, '/status'), { body: { status: { phase: 'Failed', message } } });
        return;
      }
      const podFolder = join(folder, uid);
      await mkdir(podFolder, { recursive: true });
      const run = { pod, podIP: newAddress(), folder: podFolder, client, apiServer: new URL(address.url) };
      running.set(uid, { ...runPod({ ...run, namesFile, guard, say }), name, namespace });
    }
  }

  function end(uid: string, running_: RunningPod, graceSeconds: number, pod?: Pod): void {
    ending.add(uid);
    void running_.end(graceSeconds).then(async () => {
      if (pod !== undefined) await remove(pod);
      running.delete(uid);
    });
  }

  async function remove(pod: Pod): Promise<void> {
    const body = { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } };
    await client.send('DELETE', path(pod), { body }).catch(() => undefined);
  }

  async function work(): Promise<void> {
    // Pods on a node that is not there are no endpoints of a Service.
    const node = {
      metadata: { name: nodeName },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    };
    await client.send('POST', '/api/v1/nodes', { body: node });
    while (!stopping.signal.aborted) {
      await look().catch((error: unknown) => say(`looking at the API server failed: ${String(error)}`));
      await sleep(pollEveryMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
  }

  const working = work();
  const stop = async () => {
    stopping.abort();
    await working;
    for (const pod of running.values()) pod.process()?.signal('SIGKILL');
    await Promise.all([...running.values()].map((pod) => pod.end(0)));
    await services.close();
  };
  return {
    services,
    pods: (namespace, prefix) =>
      [...running.values()].filter((pod) => pod.namespace === namespace && pod.name.startsWith(prefix)),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
