import { randomBytes } from 'node:crypto';
import { InvalidArgumentError, Option } from 'commander';
import type { AddCommand } from '../cli/add-command.ts';
import { CommandError } from '../cli/command-error.ts';
import type { CommandContext } from '../cli/context.ts';
import { DeclarationError } from '../cli/edit/declarations.ts';
import { exitCodes } from '../cli/exit-codes.ts';
import { gatewayURLFlag } from '../cli/gateway-url-flag.ts';
import { explained } from '../cli/help.ts';
import { listenAddress } from '../cli/listen-address.ts';
import {
  connectCluster,
  homeNamespaceOf,
  isFolder,
  listedNamespace,
  type PlaceFlags,
  withPlace,
} from '../cli/place.ts';
import { adminCircuits, defaultAdminURL } from '../cli/route/admin-circuits.ts';
import { podCircuits } from '../cli/route/pod-circuits.ts';
import type { KubeClient } from '../kube/client.ts';
import { errorText } from '../observe/error-text.ts';
import { productVersion } from '../observe/version.ts';
import { readAuthority, TlsFileError } from '../tls/pem-file.ts';
import { readTlsPair, type TlsPair } from '../tls/tls-pair.ts';
import { type RunningConsole, startConsole } from './console.ts';
import { explainFrom, type ReadCircuits } from './explain.ts';
import { isLoopback } from './guard.ts';
import { openInBrowser } from './open-in-browser.ts';
import type { Reach } from './try-route.ts';

interface Flags extends PlaceFlags {
  readonly listen: { readonly host: string; readonly port: number };
  readonly gatewayUrl?: string;
  readonly gatewayCa?: string;
  readonly homeNamespace?: string;
  readonly adminUrl?: string;
  readonly readOnly?: boolean;
  readonly open: boolean;
  readonly idleMinutes: number;
  readonly hostName?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

/** `console` */
export const addConsole: AddCommand = (program, context) => {
  const command = program
    .command('console')
    .summary('the administration interface in the browser')
    .description('Serves the administration interface to your browser, with your own permissions.')
    .addOption(
      new Option('--listen <host:port>', 'address to listen on')
        .argParser(address)
        .default({ host: '127.0.0.1', port: 0 }, '127.0.0.1, any port'),
    )
    .option('--gateway-url <url>', 'base URL of the gateway (else by port-forward)', gatewayURLFlag)
    .option('--gateway-ca <file>', "authority of the gateway's certificate")
    .option('--home-namespace <name>', "the platform team's, of controller and gateway")
    .option('--admin-url <url>', 'of a gateway on a folder (http://127.0.0.1:9090)')
    .option('--read-only', 'nothing can be changed')
    .option('--no-open', 'do not open the browser')
    .option('--idle-minutes <n>', 'signed out after this time without an act', minutes, 60)
    .option('--tls-cert <file>', 'certificate, for an address other than loopback')
    .option('--tls-key <file>', 'its key')
    .option('--host-name <name>', 'the name that the console is reached by there')
    .action(async (flags: Flags) => {
      const tls = await tlsOf(flags);
      const isOpen = opensToOthers(flags, tls);
      const gatewayCA = await gatewayCAOf(flags);
      const declarations = await context.declarations(flags);
      const home = homeNamespaceOf(flags, context.env);
      const running: RunningConsole = await startConsole({
        declarations,
        namespace: listedNamespace(flags, declarations),
        explain: explainFrom(
          declarations,
          home ?? declarations.namespace,
          circuitsOf(flags, home ?? declarations.namespace, context.env),
          context.signal,
          listedNamespace(flags, declarations),
        ),
        ...flags.listen,
        names: flags.hostName === undefined ? [] : [flags.hostName],
        ...(tls === undefined ? {} : { tls }),
        readOnly: flags.readOnly ?? false,
        gatewayURL: flags.gatewayUrl,
        gatewayCA,
        ...(isFolder(flags, context.env) ? {} : { reach: reachOf(flags, home, context.signal) }),
        version: productVersion(),
        idleMs: flags.idleMinutes * 60_000,
        now: () => context.clock.wall().getTime(),
        randomBytes,
        signal: context.signal,
        onFailure: ({ method, route, error, at }) =>
          context.err.write(
            `The console failed at ${method} ${route}: ${[error, ...at].join('\n    at ')}\n`,
          ),
        // A person who was signed out, or uses another browser, need not restart the console.
        onSignIn: () => context.err.write(`A browser signed in. For another one: ${running.newAddress()}\n`),
      }).catch((error: unknown) => {
        const reason = errorText(error);
        throw new CommandError(
          exitCodes.failed,
          `the console cannot listen: ${reason}. Choose another address with --listen.`,
        );
      });
      const newAddress = running.newAddress();
      if (isOpen) {
        context.err.write(
          'Others can reach this console: a person who opens the address acts with your permissions. Do not pass it on.\n',
        );
      }
      context.err.write(`Console of ${declarations.place}. Open this address; it is good for one browser:\n`);
      context.out.write(`${newAddress}\n`);
      context.err.write('Ctrl-C stops it.\n');
      if (flags.open && context.isTerminal.stdout) await openInBrowser(newAddress);
      await new Promise<void>((resolve) =>
        context.signal.addEventListener('abort', () => resolve(), { once: true }),
      );
      await running.close();
    });
  withPlace(command, 'many');
  explained(command, { examples: ['console', 'console --manifests model-gateway/manifests --no-open'] });
};

/** Reads circuits from the gateways' metrics, by the admin port or by the API server. */
function circuitsOf(flags: Flags, namespace: string, env: CommandContext['env']): ReadCircuits {
  if (isFolder(flags, env) || flags.adminUrl !== undefined) {
    return (signal) => adminCircuits(flags.adminUrl ?? defaultAdminURL, signal);
  }
  let client: Promise<KubeClient> | undefined;
  return async (signal) => {
    client ??= connectCluster(flags);
    return podCircuits(await client, namespace, signal);
  };
}

/** A gateway of the cluster, found when the first model is tried. */
function reachOf(flags: Flags, home: string | undefined, signal: AbortSignal): Reach {
  let found: Promise<Reach> | undefined;
  const find = async (): Promise<Reach> => {
    // The tunnel is client-node's, which cannot impersonate groups: it would act with other permissions than asked for.
    if (flags.asGroup !== undefined) {
      throw new DeclarationError(
        'Unavailable',
        'A gateway cannot be reached with --as-group. Give --gateway-url URL.',
      );
    }
    const [client, { loadKubeconfig }, { reachByForward }] = await Promise.all([
      connectCluster(flags),
      import('../kube/kubeconfig.ts'),
      import('./forward.ts'),
    ]);
    const { kubeconfig, context, as, gatewayCa } = flags;
    const config = loadKubeconfig({ kubeconfig, context, as });
    return reachByForward(client, config, home, gatewayCa, signal);
  };
  return async (asking) => {
    found ??= find();
    return (await found)(asking);
  };
}

/** Whether other machines can reach it. Throws CommandError if that would be unsafe or could not work. */
function opensToOthers({ listen: { host }, hostName }: Flags, tls: TlsPair | undefined): boolean {
  if (isLoopback(host)) return false;
  if (tls === undefined) {
    throw new CommandError(
      exitCodes.usage,
      `--listen ${host} lets others reach the console, who would act with your rights once they hold its token. Give --tls-cert and --tls-key too, or listen on 127.0.0.1.`,
    );
  }
  if (hostName === undefined && (host === '::' || host === '0.0.0.0')) {
    throw new CommandError(
      exitCodes.usage,
      `--listen ${host} is every address of this machine, and none that a browser can open. Give --host-name NAME too, a name in the certificate.`,
    );
  }
  return true;
}

async function tlsOf({ tlsCert, tlsKey }: Flags): Promise<TlsPair | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new CommandError(exitCodes.usage, '--tls-cert and --tls-key go together; give both.');
  }
  return readTlsPair({ cert: tlsCert, key: tlsKey }).catch((error: unknown) =>
    unfit('--tls-cert and --tls-key', error),
  );
}

/** Checked at the start, although it is needed later. */
async function gatewayCAOf({ gatewayCa }: Flags): Promise<string | undefined> {
  if (gatewayCa !== undefined) {
    await readAuthority(gatewayCa).catch((error: unknown) => unfit('--gateway-ca', error));
  }
  return gatewayCa;
}

function unfit(flag: string, error: unknown): never {
  throw error instanceof TlsFileError
    ? new CommandError(exitCodes.usage, `${flag}: ${error.message}`)
    : error;
}

function address(text: string): { host: string; port: number } {
  const found = listenAddress(text);
  if (found === undefined) throw new InvalidArgumentError('Give HOST:PORT, such as 127.0.0.1:9091.');
  return found;
}

function minutes(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 1_440)
    throw new InvalidArgumentError('Give 1 to 1440.');
  return count;
}
