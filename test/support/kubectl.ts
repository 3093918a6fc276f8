import { spawn } from 'node:child_process';
import { dirname } from 'node:path';

export interface KubectlResult {
  /** Exit code; -1 when it was killed by its timeout. */
  code: number;
  stdout: string;
  stderr: string;
}

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
): Promise<KubectlResult> {
  const home = dirname(target.kubeconfig);
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    KUBECONFIG: target.kubeconfig,
    KUBECACHEDIR: `${home}/cache`,
  };
  return new Promise((resolve, reject) => {
    const child = spawn(target.kubectlBinary, kubectlArguments, {
      env,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    // kubectl may end without reading its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
  });
}
