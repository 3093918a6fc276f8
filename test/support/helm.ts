import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { helmBinary } from './helm-binary.ts';

const timeoutMs = 240_000;

export interface HelmResult {
  /** Exit code; -1 when it was killed by its timeout of four minutes. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Helm with settings, caches and plugins of its own. */
export interface Helm extends AsyncDisposable {
  /** Runs it; never throws for a command that fails. `input` is its standard input (`--values -`). */
  run(helmArguments: readonly string[], input?: string): Promise<HelmResult>;
  /** The same; answers stdout. @throws with stderr when it fails. */
  ok(helmArguments: readonly string[], input?: string): Promise<string>;
}

/**
 * Gets Helm ready (see `helmBinary`). Without a kubeconfig it reaches no cluster, whatever the user's own settings are.
 */
export async function startHelm(kubeconfig?: string): Promise<Helm> {
  const binary = await helmBinary();
  const home = await mkdtemp(join(tmpdir(), 'model-gateway-helm-'));
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    HELM_CACHE_HOME: join(home, 'cache'),
    HELM_CONFIG_HOME: join(home, 'config'),
    HELM_DATA_HOME: join(home, 'data'),
    KUBECONFIG: kubeconfig ?? join(home, 'no-cluster'),
  };
  const run: Helm['run'] = (helmArguments, input = '') =>
    new Promise((resolve, reject) => {
      const child = spawn(binary, helmArguments, { env, timeout: timeoutMs, killSignal: 'SIGKILL' });
      let stdout = '';
      let stderr = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      // It may end without reading its input.
      child.stdin.on('error', () => undefined);
      child.stdin.end(input);
      child.on('error', reject);
      child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
    });
  return {
    run,
    async ok(helmArguments, input) {
      const { code, stdout, stderr } = await run(helmArguments, input);
      if (code !== 0) throw new Error(`helm ${helmArguments.join(' ')} ended with ${code}:\n${stderr}`);
      return stdout;
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}
