import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { helmBinary } from './helm-binary.ts';
import { type Ended, runToEnd } from './run-to-end.ts';

const timeoutMs = 240_000;

/** What client-go logs where Helm, having seen all it waited for, leaves a watch in the middle of an answer. */
const leftWatch =
  /^E\d{4} [\d:.]+ +\d+ request\.go:\d+\] "Unexpected error when reading response body" err="context canceled"\n/gm;

/** Helm with settings, caches and plugins of its own. */
export interface Helm extends AsyncDisposable {
  /** Runs it; never throws for a command that fails. `input` is its standard input (`--values -`). */
  run(helmArguments: readonly string[], input?: string): Promise<Ended>;
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
  const run: Helm['run'] = async (helmArguments, input) => {
    const ended = await runToEnd(binary, helmArguments, { env, input, timeoutMs });
    return { ...ended, stderr: ended.stderr.replaceAll(leftWatch, '') };
  };
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
