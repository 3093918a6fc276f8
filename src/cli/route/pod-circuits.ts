import { isForbidden } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { resourcePath } from '../../kube/paths.ts';
import { errorText } from '../../observe/error-text.ts';
import { gatewayLabels } from '../../resources/pod-labels.ts';
import { type GatewayPodObject, listGatewayPods } from '../gateway-pods.ts';
import { type CircuitReadings, readCircuits } from './readings.ts';

/** What was read of the gateways in a cluster. */
export interface GatewayReadings extends CircuitReadings {
  /** The namespace whose nodes every namespace may use; undefined if the gateways' pods do not agree on one. */
  readonly homeNamespace: string | undefined;
}

interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly home: string;
}

const mostListed = 500;
const mostPods = 50;
const longestMs = 5_000;
const mostBytes = 64 * 1024 * 1024;

/**
 * Reads the circuits of every gateway pod from its `/metrics`, through the API server's pod proxy and with the permissions
 * of the user. `missing` names what could not be read, and the permission for it. It looks in all namespaces, or only in
 * `namespace` if that is not allowed.
 */
export async function podCircuits(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<GatewayReadings> {
  const pods = await gatewayPods(client, namespace, signal);
  if (!Array.isArray(pods)) return { circuits: undefined, missing: [pods.missing], homeNamespace: undefined };
  const homes = new Set(pods.map(({ home }) => home));
  const homeNamespace = homes.size === 1 ? [...homes][0] : undefined;
  if (pods.length === 0) {
    return {
      circuits: undefined,
      missing: [`No pods of a gateway were found (labels ${gatewayLabels}).`],
      homeNamespace,
    };
  }
  const read = await Promise.all(
    pods.slice(0, mostPods).map((pod) =>
      metricsOf(client, pod, signal).then(
        (text) => readCircuits(pod.name, text),
        (error: unknown) => {
          signal.throwIfAborted();
          return { missing: whyNot(pod, error) };
        },
      ),
    ),
  );
  const circuits = read.flatMap((each) => ('missing' in each ? [] : [each]));
  const missing = read.flatMap((each) => ('missing' in each ? [each.missing] : []));
  if (pods.length > mostPods) missing.push(`Only ${mostPods} of ${pods.length} gateways were asked.`);
  return {
    circuits: circuits.length === 0 ? undefined : circuits,
    missing: [...new Set(missing)],
    homeNamespace,
  };
}

async function gatewayPods(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<Pod[] | { readonly missing: string }> {
  try {
    const list = (of: string | undefined) => listGatewayPods(client, of, mostListed, signal);
    const found = await list(undefined).catch((error: unknown) => {
      if (isForbidden(error)) return list(namespace);
      throw error;
    });
    return found.flatMap((item) => podOf(item) ?? []);
  } catch (error) {
    signal.throwIfAborted();
    const why = isForbidden(error)
      ? `this user has no permission to list pods, neither in all namespaces nor in ${namespace}`
      : reasonOf(error);
    return { missing: `The gateways were not found: ${why}.` };
  }
}

function podOf({ metadata, spec }: GatewayPodObject): Pod | undefined {
  const { namespace, name } = metadata ?? {};
  if (namespace === undefined || name === undefined) return undefined;
  const [container] = spec?.containers ?? [];
  const port = container?.ports?.find((each) => each.name === 'admin')?.containerPort ?? 9090;
  const flag = container?.args?.find((arg) => arg.startsWith('--home-namespace='));
  return { namespace, name, port, home: flag?.slice('--home-namespace='.length) ?? namespace };
}

async function metricsOf(client: KubeClient, pod: Pod, signal: AbortSignal): Promise<string> {
  const { namespace, name } = pod;
  const path = `${resourcePath({ group: '', version: 'v1', plural: 'pods', namespace, name })}:${pod.port}/proxy/metrics`;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(longestMs)]);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of await client.stream({ path, accept: 'text/plain', signal: limited })) {
    bytes += piece.length;
    if (bytes > mostBytes) throw new Error(`its metrics are larger than ${mostBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function whyNot({ namespace, name }: Pod, error: unknown): string {
  if (isForbidden(error)) {
    return `The circuits in ${namespace} are unknown: this user has no permission to get pods/proxy there.`;
  }
  return `The circuits of ${namespace}/${name} are unknown: ${reasonOf(error)}.`;
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer in ${longestMs / 1_000} s`;
  return errorText(error).replace(/\.$/, '');
}
