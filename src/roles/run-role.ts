import process from 'node:process';
import { readSecret } from '../cli/read-secret.ts';
import { SealError, seal } from '../cli/seal.ts';
import { ConfigError, readConfig, type SealConfig, type StandaloneConfig } from '../config.ts';
import { productVersion } from '../observe/version.ts';

/**
 * Runs a role, or `seal`, with this process's arguments, until it ends. `calledAs` is the program's name, for its texts.
 * @throws ConfigError or SealError for wrong usage; what the role throws
 */
export async function runRole(args: readonly string[], calledAs: string): Promise<void> {
  const config = readConfig(args, process.env, calledAs);
  // Each role is loaded alone: what the others need costs a start of its own second.
  switch (config.command) {
    case 'help':
      process.stdout.write(config.text);
      return;
    case 'seal':
      return runSeal(config);
    case 'start':
      return (await import('./quick-start.ts')).runQuickStart(config);
    case 'standalone':
      return runStandalone(config);
    case 'controller':
      return (await import('./cluster.ts')).runClusterController(config);
    case 'gateway':
      return (await import('./cluster.ts')).runClusterGateway(config);
  }
}

async function runStandalone(config: StandaloneConfig): Promise<void> {
  const standalone = await import('./standalone.ts');
  return standalone.runStandalone(config, async ({ console }) => {
    if (console === undefined) return;
    const { announceConsole } = await import('./standalone-console.ts');
    announceConsole(console, process.stdout);
  });
}

/** Whether the user caused an error, for example by a wrong flag: the exit code is then 2. */
export function isUsageError(error: unknown): boolean {
  return error instanceof ConfigError || error instanceof SealError;
}

async function runSeal(config: SealConfig): Promise<void> {
  const { flags } = config;
  if (flags.namespace !== undefined && flags.namespace.length > 1) {
    throw new ConfigError('--namespace may be given once here: a key is sealed for one node.');
  }
  const { connectToCluster } = await import('../kube/connect-cluster.ts');
  const lines = await seal(
    {
      name: flags.name,
      baseURL: flags['base-url'],
      namespace: flags.namespace?.[0],
      recipient: flags.recipient,
      data: flags.data,
      homeNamespace: flags['home-namespace'],
    },
    () =>
      connectToCluster({
        kubeconfig: flags.kubeconfig,
        context: flags.context,
        userAgent: `modelgateway/${productVersion()} (seal)`,
      }),
    () => readSecret('API key (not shown): ', process.stdin, process.stderr),
  );
  process.stdout.write(lines);
}
