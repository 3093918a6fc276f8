// `npm run scale`: measures controllers and gateways on a real API server with 100,000 keys and 1,000 nodes, and prints a table;
// README.md explains the rows.
import { mkdirSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import type { Result } from '../bench/result.ts';
import { table } from '../bench/table.ts';
import { clusterAt } from '../support/cluster.ts';
import { startControlPlane } from '../support/control-plane.ts';
import { describeMachine, machineLine } from '../support/machine.ts';
import { asPod } from './as-pod.ts';
import { labOf } from './lab.ts';
import { scaleOptions, usage } from './options.ts';
import { namespaceOf, populate } from './population.ts';
import { haveStatuses, preparedPort, startPreparedCluster } from './prepared-cluster.ts';
import { rows } from './rows.ts';
import { runRow } from './run-row.ts';
import { startUpstreams } from './upstreams.ts';

process.exitCode = await scale();

async function scale(): Promise<number> {
  let options: ReturnType<typeof scaleOptions>;
  try {
    options = scaleOptions(process.argv.slice(2));
    const unknown = options.only.filter((name) => !rows.some((row) => row.name === name));
    const names = rows.map(({ name }) => name).join(', ');
    if (unknown.length > 0) throw new Error(`--only ${unknown.join(', ')}: no such row; use ${names}`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
    return 2;
  }
  const began = performance.now();
  const progress = (line: string) => {
    process.stderr.write(
      `scale: ${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${line}\n`,
    );
  };
  const machine = describeMachine();
  const isShort = options.sizes.length === 1;
  const controlPlane = isShort
    ? await startControlPlane()
    : await startPreparedCluster(options.sizes, progress);
  const [{ modelsPerNode } = { modelsPerNode: 0 }] = options.sizes;
  const upstreams = await startUpstreams(isShort ? 0 : preparedPort, modelsPerNode);
  const { kubeconfig, url, ca, kubectlBinary, folder: controlPlaneFolder } = controlPlane;
  // Plain data, so that it can be handed to threads.
  const cluster = clusterAt({ kubeconfig, url, ca, kubectlBinary, folder: controlPlaneFolder });
  const results: Result[] = [];
  try {
    await cluster.applyCrds();
    if (isShort) {
      for (const size of options.sizes) {
        progress(`making ${size.keys} keys and ${size.nodes} nodes`);
        await populate(cluster, size, namespaceOf(size), upstreams.port);
        await haveStatuses(controlPlane.kubeconfig, namespaceOf(size), size);
      }
    }
    const servers = { ...controlPlane.processIds(), etcdURL: controlPlane.etcdURL };
    const lab = { ...labOf({ options, cluster, servers, upstreams, pod: await asPod(cluster) }), progress };
    for (const row of rows) {
      if (options.only.length > 0 && !options.only.includes(row.name)) continue;
      const ofRow = await runRow(row, lab);
      // A run that is stopped halfway has shown what it knew.
      process.stderr.write(`${table(ofRow)}\n`);
      results.push(...ofRow);
    }
  } finally {
    upstreams.stop();
    await controlPlane.stop();
  }
  const missed = results.filter(({ ok }) => ok === false).length;
  const report = { machine, seconds: (performance.now() - began) / 1000, options, results };
  const folder = new URL('./results/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  for (const file of [
    new URL('latest.json', folder),
    ...(options.json === undefined ? [] : [options.json]),
  ]) {
    writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
  }
  process.stdout.write(`${table(results)}\n\n${machineLine(machine)}; `);
  process.stdout.write(`${report.seconds.toFixed(0)} s; figures in test/scale/results/latest.json\n`);
  process.stdout.write(`${results.length - missed} met, ${missed} short\n`);
  return missed > 0 ? 1 : 0;
}
