import { writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { ApiClient } from '../api-client.ts';
import { pipeSockets } from '../pipe-sockets.ts';
import { loopbackOf } from './addresses.ts';

interface Service {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: { readonly ports?: readonly { readonly name?: string; readonly port: number }[] };
}

interface EndpointSlice {
  readonly metadata: { readonly namespace: string; readonly labels?: Readonly<Record<string, string>> };
  readonly ports?: readonly { readonly name?: string; readonly port: number }[] | null;
  readonly endpoints?: readonly {
    readonly addresses: readonly string[];
    readonly conditions?: { readonly ready?: boolean };
  }[];
}

/** In place of kube-proxy and the cluster's DNS: each Service has a loopback address of its own. */
export interface ServiceProxy {
  /** Takes in what Services and endpoints are now. */
  refresh(): Promise<void>;
  /** `HOST:PORT` of a Service's port. @throws when there is no such Service */
  address(namespace: string, name: string, port: number): string;
  /** The pods' addresses that a new connection may go to. */
  endpoints(namespace: string, name: string): readonly string[];
  close(): Promise<void>;
}

/** Connections go to a random one of the endpoints that are ready when they are made, and stay there. */
export function startServiceProxy(
  client: ApiClient,
  namesFile: string,
  newAddress: () => string,
): ServiceProxy {
  const names = new Map<string, string>();
  /** Endpoints are by the port's name, which may change. */
  const portNames = new Map<string, string>();
  const servers = new Map<string, Server>();
  const open = new Set<Socket>();
  let targets = new Map<string, string[]>();
  let written = '';

  async function listenFor(
    service: string,
    ip: string,
    { name = '', port }: { name?: string; port: number },
  ) {
    portNames.set(`${service}:${port}`, name);
    if (servers.has(`${service}:${port}`)) return;
    const server = createServer({ allowHalfOpen: true }, (caller) => {
      const ready = targets.get(`${service}/${portNames.get(`${service}:${port}`)}`) ?? [];
      const [host = '', to = ''] = (ready[Math.floor(Math.random() * ready.length)] ?? '').split(':');
      if (host === '') return void caller.resetAndDestroy();
      const pod = connect({ host, port: Number(to), allowHalfOpen: true, noDelay: true });
      caller.setNoDelay(true);
      pipeSockets(caller, pod, open, (other) => other.resetAndDestroy());
    });
    servers.set(`${service}:${port}`, server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, ip, resolve);
    });
  }

  return {
    async refresh() {
      const list = async <T>(path: string) => ((await client.ask('GET', path)) as { items: T[] }).items;
      const services = await list<Service>('/api/v1/services');
      const slices = await list<EndpointSlice>('/apis/discovery.k8s.io/v1/endpointslices');
      const fresh = new Map<string, string[]>();
      for (const slice of slices) {
        const service = slice.metadata.labels?.['kubernetes.io/service-name'];
        const ready = (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
        for (const { name = '', port } of slice.ports ?? []) {
          const key = `${service}.${slice.metadata.namespace}/${name}`;
          const here = ready.flatMap(({ addresses }) => addresses.map((ip) => `${loopbackOf(ip)}:${port}`));
          fresh.set(key, [...(fresh.get(key) ?? []), ...here]);
        }
      }
      targets = fresh;
      for (const { metadata, spec } of services) {
        const service = `${metadata.name}.${metadata.namespace}`;
        if (service === 'kubernetes.default') continue;
        const ip = names.get(service) ?? newAddress();
        names.set(service, ip);
        for (const port of spec.ports ?? []) await listenFor(service, ip, port);
      }
      const text = JSON.stringify(Object.fromEntries(names));
      if (text === written) return;
      written = text;
      // Written in place: sandboxes hold this very file.
      writeFileSync(namesFile, text);
    },
    address(namespace, name, port) {
      const ip = names.get(`${name}.${namespace}`);
      if (ip === undefined) throw new Error(`there is no Service ${namespace}/${name}`);
      return `${ip}:${port}`;
    },
    endpoints: (namespace, name) =>
      [...targets].filter(([key]) => key.startsWith(`${name}.${namespace}/`)).flatMap(([, ready]) => ready),
    async close() {
      for (const socket of open) socket.destroy();
      await Promise.all(
        [...servers.values()].map((server) => new Promise((resolve) => server.close(resolve))),
      );
    },
  };
}
