import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, type Caller, callerOf } from '../support/caller.ts';
import { chartFolder } from '../support/chart.ts';
import { eventually } from '../support/eventually.ts';
import type { Helm } from '../support/helm.ts';
import { openStreams } from '../support/open-streams.ts';
import { steadyLoad } from '../support/steady-load.ts';
import type { KindCluster } from './kind-cluster.ts';
import {
  apiVersion,
  credential,
  key,
  modelServerObjects,
  releaseNamespace as namespace,
  node,
  values,
} from './objects.ts';
import { withoutApiServer } from './without-api-server.ts';

interface Step {
  readonly name: string;
  /** Answers what was measured, if anything. @throws when it fails */
  readonly run: () => Promise<string | undefined>;
}

interface Stage {
  readonly cluster: KindCluster;
  readonly helm: Helm;
  readonly image: string;
  readonly previous: PreviousChart;
}

/** The chart to upgrade from. */
interface PreviousChart {
  /** A folder, a package, or an address that Helm takes. */
  readonly chart: string;
  /** A field of UpstreamNode that its definitions have not yet. */
  readonly lacks: string | undefined;
}

const gateway = 'deployment/model-gateway-gateway';
const requestsPerSecond = 20;
const streams = 200;
const outageMs = 60_000;

/** The life of an installation, in order: each step builds on those before it. */
export function steps({ cluster, helm, image, previous }: Stage): readonly Step[] {
  const { kubectl } = cluster;
  const own = (...args: string[]) => kubectl(['--namespace', namespace, ...args]);
  const apply = (...objects: object[]) =>
    kubectl(
      ['--namespace', namespace, 'apply', '--filename', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
    );
  const keyOf = async (secret: string): Promise<string> => {
    const encoded = await own('get', 'secret', secret, '--output=jsonpath={.data.apiKey}');
    return Buffer.from(encoded, 'base64').toString();
  };
  let caller: Caller = callerOf(`${cluster.origin}/v1`, 'none');

  const install = (chart: string, ...more: string[]) =>
    helm.ok(
      [
        ...['upgrade', '--install', 'model-gateway', chart, '--namespace', namespace, '--create-namespace'],
        ...['--values', '-', '--wait', '--timeout', '5m', ...more],
      ],
      JSON.stringify(values(image)),
    );

  /** Does something while callers come at a steady pace; none of them may notice. */
  const unnoticed = async (something: () => Promise<unknown>): Promise<string> => {
    const load = steadyLoad(caller, 'm', requestsPerSecond);
    const [done] = await Promise.allSettled([something()]);
    const { sent, failures } = await load.stop();
    if (done.status === 'rejected') throw done.reason;
    if (failures.length > 0) throw new Error(`${failures.length} of ${sent} requests failed: ${failures[0]}`);
    return `${sent} requests, 0 failed`;
  };

  /** Whether the definition of UpstreamNode takes the field. */
  const takes = (field: string): Promise<boolean> => {
    const { baseURL } = node('named').spec;
    const named = {
      apiVersion,
      kind: 'UpstreamNode',
      metadata: { name: 'named' },
      spec: { baseURL, [field]: 'x' },
    };
    const flags = ['--namespace', namespace, '--dry-run=server', '--validate=strict', '--filename', '-'];
    return kubectl(['apply', ...flags], JSON.stringify(named)).then(
      () => true,
      () => false,
    );
  };

  return [
    {
      name: 'the chart of before installs, and Helm waits until it works',
      async run() {
        await kubectl(['create', 'namespace', namespace]);
        await apply(...modelServerObjects(image), credential('credential-one'));
        await own('rollout', 'status', 'deployment/model-server', '--timeout=3m');
        await install(previous.chart);
        if (previous.lacks !== undefined && (await takes(previous.lacks))) {
          throw new Error(`its definitions have ${previous.lacks} already`);
        }
        return undefined;
      },
    },
    {
      name: 'the first request is answered with the generated key',
      async run() {
        caller = callerOf(`${cluster.origin}/v1`, await keyOf('first-key'));
        await eventually('a request is answered', async () => (await tried(caller)).status === 200, 60_000);
        return undefined;
      },
    },
    {
      name: 'an upgrade to this chart under load loses nothing, and brings its definitions',
      async run() {
        const told = await unnoticed(() => install(chartFolder, '--set', 'log.level=debug'));
        if (previous.lacks !== undefined && !(await takes(previous.lacks))) {
          throw new Error(`the definitions have no ${previous.lacks} yet`);
        }
        return told;
      },
    },
    {
      name: 'helm test passes',
      run: async () => void (await helm.ok(['test', 'model-gateway', '--namespace', namespace])),
    },
    {
      name: 'a revoked key is refused within 2 s',
      async run() {
        await apply(key('second'));
        await own('wait', '--for=condition=Ready', 'apikey/second', '--timeout=60s');
        const second = callerOf(`${cluster.origin}/v1`, await keyOf('second'));
        await eventually('the second key opens', async () => (await tried(second)).status === 200, 30_000);
        await own('delete', 'apikey', 'second', '--wait=false');
        const began = performance.now();
        // Several at once, over connections of their own: every gateway has to know.
        const asked = () => Promise.all(Array.from({ length: 20 }, () => tried(second)));
        while (!(await asked()).every(({ status }) => status === 401)) {
          if (performance.now() - began > 10_000) throw new Error('the key still opens after 10 s');
        }
        const ms = Math.round(performance.now() - began);
        if (ms > 2_000) throw new Error(`it took ${ms} ms`);
        return `${ms} ms`;
      },
    },
    {
      name: 'a changed Secret is used for the next requests',
      run: () =>
        unnoticed(async () => {
          await apply(credential('credential-two'));
          await eventually(
            'the new credential arrives',
            async () => (await tried(caller)).text.includes('"two"'),
            30_000,
          );
        }),
    },
    {
      name: `a rolling restart under load and ${streams} open streams loses nothing`,
      run: () =>
        unnoticed(async () => {
          const open = openStreams(`${cluster.origin}/v1`, await keyOf('first-key'), 'slow', streams);
          await eventually('all streams flow', () => open.flowing() === streams, 30_000);
          await own('rollout', 'restart', gateway);
          await own('rollout', 'status', gateway, '--timeout=5m');
          const broken = await open.ended();
          if (broken.length > 0) throw new Error(`${broken.length} streams broke: ${broken[0]}`);
        }),
    },
    {
      name: 'a drained node under load loses nothing',
      run: async () => {
        const pods = await own(
          'get',
          'pods',
          '--selector=app.kubernetes.io/component=gateway',
          '--output=jsonpath={.items[0].spec.nodeName}',
        );
        try {
          return await unnoticed(() =>
            kubectl(['drain', pods, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=5m']),
          );
        } finally {
          await kubectl(['uncordon', pods]);
        }
      },
    },
    {
      name: 'with the API server stopped traffic flows on; once it is back, changes bite again',
      async run() {
        const told = await unnoticed(() => withoutApiServer(cluster, () => delay(outageMs)));
        await own('rollout', 'status', 'deployment/model-gateway-controller', '--timeout=3m');
        await apply(key('third'));
        await own('wait', '--for=condition=Ready', 'apikey/third', '--timeout=2m');
        const third = callerOf(`${cluster.origin}/v1`, await keyOf('third'));
        await eventually('the third key opens', async () => (await tried(third)).status === 200, 60_000);
        await own('delete', 'apikey', 'third', '--wait=false');
        await eventually('it is refused', async () => (await tried(third)).status === 401, 10_000);
        return told;
      },
    },
    {
      name: 'a killed leader is followed by another within 20 s',
      async run() {
        const holder = () =>
          own('get', 'lease', 'model-gateway-controller', '--output=jsonpath={.spec.holderIdentity}');
        const before = await holder();
        const pod = before.slice(0, before.lastIndexOf('_'));
        await own('delete', 'pod', pod, '--force', '--grace-period=0');
        const began = performance.now();
        await eventually('another leads', async () => !['', before].includes(await holder()), 60_000, 250);
        const seconds = (performance.now() - began) / 1000;
        if (seconds > 20) throw new Error(`it took ${seconds.toFixed(1)} s`);
        return `${seconds.toFixed(1)} s`;
      },
    },
    {
      name: 'uninstalling leaves definitions, nodes and keys',
      async run() {
        await apply(
          { apiVersion, kind: 'UpstreamNode', metadata: { name: 'kept' }, spec: node('kept').spec },
          key('kept'),
        );
        await helm.ok(['uninstall', 'model-gateway', '--namespace', namespace, '--wait']);
        const left = await own('get', 'upstreamnodes,apikeys', '--output=name');
        for (const name of ['upstreamnode.modelgateway.dev/kept', 'apikey.modelgateway.dev/kept']) {
          if (!left.includes(name)) throw new Error(`${name} is gone; left: ${left}`);
        }
        return undefined;
      },
    },
  ];
}

/** An answer, or status 0 where there was none. */
function tried(caller: Caller): Promise<Pick<Answer, 'status' | 'text'>> {
  return caller.chat('m').catch((error: unknown) => ({ status: 0, text: String(error) }));
}
