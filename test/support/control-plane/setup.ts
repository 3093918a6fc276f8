import type { TestProject } from 'vitest/node';
import { type ControlPlane, type ControlPlaneAddress, startControlPlane } from '../control-plane.ts';
import { apiServerTestsLeftOut } from './binaries.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The control plane that all files of a run share; `sharedCluster` in cluster.ts wraps it. */
    controlPlane: ControlPlaneAddress;
  }
}

interface Shared {
  users: number;
  starting: Promise<ControlPlane>;
}

// Each project loads this file anew: only the process has one memory for both.
const key = Symbol.for('model-gateway.test.control-plane');
const memory = globalThis as { [key]?: Shared | undefined };

/** Vitest's global setup of the projects `crds` and `cluster`: one control plane for both, started by the first. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (apiServerTestsLeftOut()) {
    throw new Error(
      `MODEL_GATEWAY_TEST_WITHOUT_API_SERVER is set, so project "${project.name}" has no API server: ` +
        'unset it, or name only other projects (`npm test` does so by itself)',
    );
  }
  memory[key] ??= { users: 0, starting: startControlPlane() };
  const shared = memory[key];
  shared.users++;
  const { kubeconfig, url, ca, kubectlBinary, folder } = await shared.starting;
  project.provide('controlPlane', { kubeconfig, url, ca, kubectlBinary, folder });
  return async () => {
    shared.users--;
    if (shared.users > 0) return;
    memory[key] = undefined;
    await (await shared.starting).stop();
  };
}
