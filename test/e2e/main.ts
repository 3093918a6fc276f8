// `npm run e2e`: the chart and the image on a kind cluster with real pods. Needs Docker and kind; see `--help`.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startHelm } from '../support/helm.ts';
import { previousChart } from '../support/previous-chart.ts';
import { createKindCluster, type KindCluster } from './kind-cluster.ts';
import { missingHere } from './missing-here.ts';
import { run } from './run.ts';
import { steps } from './steps.ts';

const help = `Usage: npm run e2e -- [FLAGS]

Builds the image, makes a kind cluster, installs the chart and goes through its life: first request, upgrade with changed
definitions, revocation, a changed credential, rolling restart, drain and a stopped API server under load, a lost leader,
uninstall. Takes about 15 minutes.

  --image TAG         use this image of the local Docker instead of building one
  --node-image IMAGE  kind's image of the nodes, which chooses the version of Kubernetes
  --from CHART        the chart to upgrade from: a folder, a package, oci://…; else one is made of this one, with a
                      field less in its definitions
  --keep              leave the cluster there afterwards
`;

const { values } = parseArgs({
  options: {
    image: { type: 'string' },
    'node-image': { type: 'string' },
    from: { type: 'string' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}
const missing = missingHere();
if (missing.length > 0) {
  for (const line of missing) console.error(`e2e: ${line}`);
  console.error('e2e: nothing was tested.');
  process.exit(1);
}

const image = values.image ?? 'model-gateway:e2e';
if (values.image === undefined) {
  console.log('Building the image…');
  await run(
    process.execPath,
    [fileURLToPath(new URL('../../scripts/image.ts', import.meta.url)), '--tag', image],
    {
      timeoutMs: 20 * 60_000,
    },
  );
}
const folder = mkdtempSync(join(tmpdir(), 'model-gateway-e2e-'));
console.log('Creating the cluster…');
const cluster = await createKindCluster(`model-gateway-${process.pid}`, folder, values['node-image']);
const helm = await startHelm(cluster.kubeconfig);
const lacks = 'displayName';
const made = values.from === undefined ? await previousChart(lacks) : undefined;
const previous = { chart: values.from ?? made?.folder ?? '', lacks: made && lacks };
let failed = false;
try {
  await cluster.loadImage(image);
  for (const { name, run: perform } of steps({ cluster, helm, image, previous })) {
    const began = performance.now();
    const told = await perform();
    console.log(
      `ok ${name}${told === undefined ? '' : `: ${told}`} (${Math.round((performance.now() - began) / 1000)} s)`,
    );
  }
} catch (error) {
  failed = true;
  console.error(`FAILED ${error instanceof Error ? error.message : String(error)}`);
  await tellState(cluster);
} finally {
  await helm[Symbol.asyncDispose]();
  await made?.[Symbol.asyncDispose]();
  if (values.keep)
    console.log(`The cluster ${cluster.name} is still there: KUBECONFIG=${cluster.kubeconfig}`);
  else await cluster.delete();
}
process.exitCode = failed ? 1 : 0;

/** What one wants to know of a failed run whose cluster is gone afterwards. */
async function tellState({ kubectl }: KindCluster): Promise<void> {
  const questions = [
    ['get', 'pods', '-A', '-o', 'wide'],
    ['get', 'upstreamnodes,apikeys', '-A', '-o', 'wide'],
    ['get', 'events', '-n', 'model-gateway', '--sort-by=.lastTimestamp'],
    ['logs', '-n', 'model-gateway', '-l', 'app.kubernetes.io/name=model-gateway', '--tail=60', '--prefix'],
  ];
  for (const question of questions) {
    console.error(`--- kubectl ${question.join(' ')}`);
    console.error(await kubectl(question).catch((error: unknown) => String(error)));
  }
}
