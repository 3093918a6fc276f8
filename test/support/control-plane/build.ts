import { readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Guard } from '../guard.ts';
import { runGo } from '../run-go.ts';

const moduleFolder = fileURLToPath(new URL('.', import.meta.url));

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
  await runGo({
    arguments: ['build', '-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags', `-s -w ${stamps}`]
      .concat(['-o', `${folder}/`])
      .concat(packages),
    what: 'the Kubernetes API server',
    cwd: moduleFolder,
    folder,
    guard,
    say,
  });
  const suffix = process.platform === 'win32' ? '.exe' : '';
  // Go names a binary after its folder, and etcd's is called "server".
  await rename(join(folder, `server${suffix}`), join(folder, `etcd${suffix}`));
}
