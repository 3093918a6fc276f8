import process from 'node:process';
import { readSecret } from './cli/read-secret.ts';
import { SealError, seal } from './cli/seal.ts';
import { runClusterController, runClusterGateway, userAgent } from './cluster.ts';
import { ConfigError, readConfig, type SealConfig } from './config.ts';
import { helpText } from './flags.ts';
import { connectKube } from './kube/client.ts';
import { explain, version } from './process.ts';
import { runQuickStart, runStandalone } from './standalone.ts';

await main().catch((error: unknown) => {
  const isOurs = error instanceof ConfigError || error instanceof SealError;
  process.stderr.write(`model-gateway: ${explain(error)}\n`);
  process.exit(isOurs ? 2 : 1);
});

async function main(): Promise<void> {
  const config = readConfig(process.argv.slice(2), process.env);
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
      return runQuickStart(config);
    case 'standalone':
      return runStandalone(config);
    case 'controller':
      return runClusterController(config);
    case 'gateway':
      return runClusterGateway(config);
  }
}

async function runSeal(config: SealConfig): Promise<void> {
  const { flags } = config;
  if (flags.namespace !== undefined && flags.namespace.length > 1) {
    throw new ConfigError('--namespace may be given once here: a key is sealed for one node.');
  }
  const lines = await seal(
    {
      name: flags.name,
      baseURL: flags['base-url'],
      namespace: flags.namespace?.[0],
      recipient: flags.recipient,
      data: flags.data,
      homeNamespace: flags['home-namespace'],
    },
    () => connectKube({ kubeconfig: flags.kubeconfig, context: flags.context, userAgent: userAgent('seal') }),
    () => readSecret('API key (not shown): ', process.stdin, process.stderr),
  );
  process.stdout.write(lines);
}
