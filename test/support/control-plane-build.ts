import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Guard } from './guard.ts';

const moduleFolder = fileURLToPath(new URL('./control-plane', import.meta.url));
const progressEveryMs = 20_000;
const buildTimeoutMs = 30 * 60_000;

const packages = [
  'k8s.io/kubernetes/cmd/kube-apiserver',
  'k8s.io/kubernetes/cmd/kube-controller-manager',
  'k8s.io/kubernetes/cmd/kubectl',
  'go.etcd.io/etcd/server/v3',
];

/** The versions that `control-plane/go.mod` names, for example `{ kubernetes: 'v1.36.3', etcd: 'v3.6.8' }`. */
export function pinnedVersions(): { kubernetes: string; etcd: string } {
  const text = readFileSync(join(moduleFolder, 'go.mod'), 'utf8');
  const versionOf = (path: string) => {
    const version = new RegExp(`^\\s*(?:require )?${path} (v[0-9.]+)`, 'm').exec(text)?.[1];
    if (version === undefined) throw new Error(`control-plane/go.mod names no version of ${path}`);
    return version;
  };
  return { kubernetes: versionOf('k8s.io/kubernetes'), etcd: versionOf('go.etcd.io/etcd/server/v3') };
}

/**
 * Builds the control plane's binaries from Go modules into `folder`, which must exist. A line every 20 seconds says that
 * it is still going on.
 *
 * @throws when Go is missing or the build fails, with the last lines that Go wrote.
 */
export async function buildControlPlane(
  folder: string,
  guard: Guard,
  say: (line: string) => void,
): Promise<void> {
  const version = pinnedVersions().kubernetes;
  // Without these two, kubectl cannot parse its own version and the server reports v0.0.0.
  const variables = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  const stamps = variables.map((path) => `-X ${path}.gitVersion=${version}`).join(' ');
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1000);
  // Inside the folder that the guard removes: a killed Go leaves its gigabyte of intermediate files behind.
  const scratch = join(folder, 'go-tmp');
  await mkdir(scratch);
  const timer = setInterval(
    () => say(`still building the Kubernetes API server (${seconds()} s)…`),
    progressEveryMs,
  );
  try {
    await runGo(
      ['build', '-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags', `-s -w ${stamps}`]
        .concat(['-o', `${folder}/`])
        .concat(packages),
      scratch,
      guard,
    );
  } finally {
    clearInterval(timer);
  }
  await rm(scratch, { recursive: true });
  const suffix = process.platform === 'win32' ? '.exe' : '';
  // Go names a binary after its folder, and etcd's is called "server".
  await rename(join(folder, `server${suffix}`), join(folder, `etcd${suffix}`));
  say(`built in ${seconds()} s`);
}

function runGo(goArguments: readonly string[], scratch: string, guard: Guard): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', goArguments, {
      cwd: moduleFolder,
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '', GOTMPDIR: scratch },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    });
    const { pid } = child;
    if (pid !== undefined) guard.watch(pid);
    const timer = setTimeout(() => {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    }, buildTimeoutMs);
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-8192);
    });
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(new Error(`go cannot be started: ${error.message}`));
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (pid !== undefined) guard.forget(pid);
      if (code === 0) resolve();
      else reject(new Error(`go build ended with ${code ?? signal}:\n${lastLines(output, 12)}`));
    });
  });
}

function lastLines(text: string, count: number): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
