import { execFile } from 'node:child_process';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fillFolder } from './fill-folder.ts';
import { fromCache, programsIn } from './from-cache.ts';
import { runGo } from './run-go.ts';

/** 3.8.1, as a version of its Go module. */
const moduleVersion = 'v0.308.1';
const lockTimeoutMs = 40 * 60_000;
const run = promisify(execFile);

export interface PrometheusBinaries {
  readonly prometheus: string;
  readonly promtool: string;
}

/**
 * Paths of Prometheus and promtool: those of the folder that the variable `PROMETHEUS_HOME` names, or what an earlier run
 * left in the user's cache folder, or taken from Debian's package (which is not installed), or built from Go modules
 * (5 minutes on two cores, once).
 *
 * @throws with a text that names all ways when none of them works.
 */
export async function prometheusBinaries(
  env: NodeJS.ProcessEnv = process.env,
  say: (line: string) => void = (line) => process.stderr.write(`prometheus: ${line}\n`),
): Promise<PrometheusBinaries> {
  const named = env['PROMETHEUS_HOME'];
  if (named !== undefined && named !== '') {
    const found = await binariesIn(named);
    if (found !== undefined) return found;
    throw new Error(`PROMETHEUS_HOME=${named}: the programs prometheus and promtool are not in it`);
  }
  return fromCache(
    {
      name: `prometheus/${process.platform}-${process.arch}`,
      find: binariesIn,
      get: (folder) => get(folder, say),
      onWait: () => say('another process is getting it; waiting…'),
      timeoutMs: lockTimeoutMs,
    },
    env,
  );
}

const binariesIn = (folder: string): Promise<PrometheusBinaries | undefined> =>
  programsIn(folder, ['prometheus', 'promtool']);

async function get(folder: string, say: (line: string) => void): Promise<void> {
  const tried: string[] = [];
  for (const [what, way] of [
    ['Debian’s package', fromDebian],
    ['the build from Go modules', fromGo],
  ] as const) {
    try {
      say(`trying ${what}…`);
      await way(folder, say);
      if ((await binariesIn(folder)) !== undefined) return;
      tried.push(`  - ${what}: the programs are not in it`);
    } catch (error) {
      tried.push(`  - ${what} failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(
    [
      'The tests of telemetry need Prometheus, and there was no way to get it. What was tried:',
      ...tried,
      'Do one of these, then run the tests again:',
      '  1. Set PROMETHEUS_HOME to a folder with prometheus and promtool.',
      `  2. Put them into ${folder}.`,
      '  3. Install Go 1.26 or newer, with access to a Go module proxy: they are then built.',
    ].join('\n'),
  );
}

/** Downloads the package and takes the two programs out of it; nothing is installed, and no root is needed. */
async function fromDebian(folder: string): Promise<void> {
  await fillFolder(folder, async (staging) => {
    await run('apt-get', ['download', 'prometheus'], { cwd: staging, timeout: 300_000 });
    const [archive = ''] = (await readdir(staging)).filter((name) => name.endsWith('.deb'));
    await run('dpkg', ['-x', archive, 'package'], { cwd: staging, timeout: 60_000 });
    const made = join(staging, 'programs');
    await cp(join(staging, 'package', 'usr', 'bin'), made, { recursive: true });
    return made;
  });
}

async function fromGo(folder: string, say: (line: string) => void): Promise<void> {
  await fillFolder(folder, async (staging, guard) => {
    const programs = ['prometheus', 'promtool'].map(
      (name) => `github.com/prometheus/prometheus/cmd/${name}@${moduleVersion}`,
    );
    const tags = ['-tags', 'netgo,remove_all_sd', '-trimpath', '-ldflags', '-s -w'];
    await runGo({
      arguments: ['install', ...tags, ...programs],
      what: 'Prometheus',
      cwd: staging,
      folder: staging,
      env: { GOBIN: staging },
      guard,
      say,
    });
    return staging;
  });
}
