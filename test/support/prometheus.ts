import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { eventually } from './eventually.ts';
import { startProgram } from './program.ts';
import { prometheusBinaries } from './prometheus-binaries.ts';

/** One series of an answer. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A Prometheus that scrapes some processes each second. */
export interface Prometheus extends AsyncDisposable {
  /** An instant query. @throws with what Prometheus says of one that is wrong */
  query(expr: string): Promise<readonly Series[]>;
}

/** `targets`: origins of admin ports, by job. */
export async function startPrometheus(
  targets: Readonly<Record<string, readonly string[]>>,
  rules: string,
): Promise<Prometheus> {
  const { prometheus } = await prometheusBinaries();
  const folder = await mkdtemp(join(tmpdir(), 'model-gateway-prometheus-'));
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: Object.entries(targets).map(([job, origins]) => ({
      job_name: job,
      static_configs: [{ targets: origins.map((origin) => new URL(origin).host) }],
    })),
  };
  await writeFile(join(folder, 'prometheus.yml'), stringify(config));
  const port = await freePort();
  const program = startProgram({
    program: [prometheus],
    args: [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
  });
  const origin = `http://127.0.0.1:${port}`;
  await eventually(
    'Prometheus is ready',
    async () => {
      program.alive();
      return fetch(`${origin}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    },
    60_000,
    200,
  );
  return {
    async query(expr) {
      const answer = await fetch(`${origin}/api/v1/query`, {
        method: 'POST',
        body: new URLSearchParams({ query: expr }),
        signal: AbortSignal.timeout(20_000),
      });
      const said = (await answer.json()) as {
        error?: string;
        data?: { result: { metric: Record<string, string>; value: [number, string] }[] };
      };
      if (said.data === undefined) throw new Error(`${expr}\n${said.error ?? `HTTP ${answer.status}`}`);
      return said.data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    async [Symbol.asyncDispose]() {
      await program.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
