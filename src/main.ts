import process from 'node:process';
import { readSecret } from './cli/read-secret.ts';
import { SealError, seal } from './cli/seal.ts';
import { ConfigError, readConfig, type SealConfig } from './config.ts';
import { helpText } from './flags.ts';
import { explain, version } from './process.ts';

await main().catch((error: unknown) => {
  process.stderr.write(`model-gateway: ${explain(error)}\n`);
  process.exit(error instanceof ConfigError || error instanceof SealError ? 2 : 1);
});

async function main(): Promise<void> {
  const config = readConfig(process.argv.slice(2), process.env);
  // Each role is loaded alone: what the others need costs a start of its own second.
  switch (config.command) {
    case 'help':
      process.stdout.write(helpText(config.of));
      return;
    case 'version':
      process.stdout.write(`model-gateway ${version}\n`);
      return;
    case 'seal':
      return runSeal(config);
    case 'start':
      return (await import('./standalone.ts')).runQuickStart(config);
    case 'standalone':
      return (await import('./standalone.ts')).runStandalone(config);
    case 'controller':
      return (await import('./cluster.ts')).runClusterController(config);
    case 'gateway':
      return (await import('./cluster.ts')).runClusterGateway(config);
  }
}

async function runSeal(config: SealConfig): Promise<void> {
  const { flags } = config;
  if (flags.namespace !== undefined && flags.namespace.length > 1) {
    throw new ConfigError('--namespace may be given once here: a key is sealed for one node.');
  }
  const { connectKube } = await import('./kube/client.ts');
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
      connectKube({
        kubeconfig: flags.kubeconfig,
        context: flags.context,
        userAgent: `modelgateway/${version} (seal)`,
      }),
    () => readSecret('API key (not shown): ', process.stdin, process.stderr),
  );
  process.stdout.write(lines);
}
