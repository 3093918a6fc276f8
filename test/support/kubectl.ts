import { dirname } from 'node:path';
import { type Ended, runToEnd } from './run-to-end.ts';

/** How kubectl reaches a cluster. */
export interface KubectlTarget {
  /** Path of the kubectl program. */
  kubectlBinary: string;
  /** Path of a kubeconfig. */
  kubeconfig: string;
}

/**
 * Runs kubectl; never throws for a command that fails. `input` is its standard input. Nothing of the user's own
 * kubectl settings or caches is read or written.
 */
export function runKubectl(
  target: KubectlTarget,
  kubectlArguments: readonly string[],
  input = '',
  timeoutMs = 60_000,
): Promise<Ended> {
  const home = dirname(target.kubeconfig);
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    KUBECONFIG: target.kubeconfig,
    KUBECACHEDIR: `${home}/cache`,
  };
  return runToEnd(target.kubectlBinary, kubectlArguments, { env, input, timeoutMs });
}
