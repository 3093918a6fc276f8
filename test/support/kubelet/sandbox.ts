import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { Container, Pod } from './pod.ts';
import { environmentPrefix } from './pod-network-environment.ts';

/** The user of the image, where the pod names none. */
const imageUser = 65_532;
const networkFile = fileURLToPath(new URL('./pod-network.ts', import.meta.url));
const repository = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');
const serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount';

/** What is to be started; `volumes` is the folder that holds one folder for each volume. */
export interface SandboxOf {
  readonly pod: Pod;
  readonly container: Container;
  readonly env: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  /** A folder of the container's own, for its root. */
  readonly folder: string;
  readonly volumes: string;
  readonly podIP: string;
  readonly namesFile: string;
}

export interface SandboxCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The user that a container's process has; undefined without a sandbox: whoever runs the tests. */
export function userOf(pod: Pod, container: Container): number | undefined {
  if (!isolates) return undefined;
  return container.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser ?? imageUser;
}

/**
 * Whether processes of pods get a root of their own. It needs root on Linux, and `TEST_PODS_WITHOUT_SANDBOX` is not set.
 * With it a pod sees its volumes at the very paths that are rendered, in-cluster credentials too, writes nowhere but to
 * them, and has the user and capabilities that are rendered. Without it paths in arguments and variables are rewritten
 * to where the volumes lie, and a kubeconfig that names the same token file stands for the in-cluster credentials.
 */
export const isolates =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  !process.env['TEST_PODS_WITHOUT_SANDBOX'] &&
  spawnSync('unshare', ['--mount', 'setpriv', '--version']).status === 0;

/** The command line that runs a container; the image's entrypoint is the product, from its sources. */
export function sandboxCommand(of: SandboxOf): SandboxCommand {
  const env = {
    ...of.env,
    [`${environmentPrefix}IP`]: of.podIP,
    [`${environmentPrefix}NAMESPACE`]: of.pod.metadata.namespace,
    [`${environmentPrefix}NAMES`]: isolates ? '/etc/cluster-names.json' : of.namesFile,
  };
  return isolates ? inRootOfItsOwn(of, env) : beside(of, env);
}

function commandLine(container: Container, args: readonly string[], root: string, node: string): string[] {
  const [program = 'model-gateway', ...more] = container.command ?? [];
  const network = ['--import', networkFile.replace(repository, root)];
  if (/^(\/\S*\/)?node$/.test(program)) return [node, ...network, ...more, ...args];
  if (!/^(\/\S*\/)?model-gateway$/.test(program)) throw new Error(`the image has no program ${program}`);
  return [node, ...network, `${root}/src/main.ts`, ...more, ...args];
}

function beside(of: SandboxOf, env: Record<string, string>): SandboxCommand {
  const mounts = of.container.volumeMounts ?? [];
  const moved = (text: string) =>
    mounts.reduce((value, { mountPath, name }) => value.replaceAll(mountPath, join(of.volumes, name)), text);
  const token = mounts.find(({ mountPath }) => mountPath === serviceAccount);
  const kubeconfig = token === undefined ? {} : { KUBECONFIG: join(of.folder, 'kubeconfig') };
  const [command = '', ...args] = commandLine(of.container, of.args.map(moved), repository, process.execPath);
  const entries = Object.entries(env).map(([name, value]) => [name, moved(value)]);
  return {
    command,
    args,
    env: { PATH: process.env['PATH'] ?? '', ...Object.fromEntries(entries), ...kubeconfig },
  };
}

/** Where the in-cluster credentials are for a process without a sandbox; the kubeconfig has no secret of its own. */
export function standInKubeconfig(of: SandboxOf): string | undefined {
  const token = of.container.volumeMounts?.find(({ mountPath }) => mountPath === serviceAccount);
  if (isolates || token === undefined) return undefined;
  const at = join(of.volumes, token.name);
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = of.env;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'c', cluster: { server: `https://${host}:${port}`, 'certificate-authority': `${at}/ca.crt` } },
    ],
    users: [{ name: 'u', user: { tokenFile: `${at}/token` } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: of.pod.metadata.namespace } }],
    'current-context': 'c',
  });
}

/** A root of its own in memory: the machine's programs and libraries, the product at /app, the volumes, nothing else. */
function inRootOfItsOwn(of: SandboxOf, env: Record<string, string>): SandboxCommand {
  const { container, pod } = of;
  const root = join(of.folder, 'root');
  const lines: string[] = [
    'set -e',
    `mkdir -p ${quoted(root)}`,
    `mount -t tmpfs -o mode=755 tmpfs ${quoted(root)}`,
    `cd ${quoted(root)}`,
  ];
  const bind = (from: string, to: string, more: { readOnly?: boolean; recursive?: boolean } = {}) => {
    lines.push(
      `mkdir -p .${quoted(to)}`,
      `mount --${more.recursive ? 'rbind' : 'bind'} ${quoted(from)} .${quoted(to)}`,
    );
    if (more.readOnly) lines.push(`mount -o remount,ro,bind .${quoted(to)}`);
  };
  for (const name of ['bin', 'sbin', 'lib', 'lib64', 'lib32', 'libx32', 'usr']) {
    if (!existsSync(`/${name}`)) continue;
    if (lstatSync(`/${name}`).isSymbolicLink()) lines.push(`cp -P /${name} ${name}`);
    else bind(`/${name}`, `/${name}`, { readOnly: true });
  }
  bind('/proc', '/proc', { recursive: true });
  bind('/dev', '/dev', { recursive: true });
  bind(repository, '/app', { readOnly: true });
  bind(dirname(process.execPath), '/node', { readOnly: true });
  lines.push(
    'mkdir -p etc tmp',
    'for f in ld.so.cache ld.so.conf; do cp /etc/$f etc/ 2>/dev/null || true; done',
  );
  lines.push('touch etc/cluster-names.json', `mount --bind ${quoted(of.namesFile)} etc/cluster-names.json`);
  const volumes = new Map((pod.spec.volumes ?? []).map((volume) => [volume.name, volume]));
  for (const { name, mountPath, readOnly } of container.volumeMounts ?? []) {
    // Everything but emptyDir is read-only to a container, whatever it says.
    const fixed = readOnly === true || volumes.get(name)?.emptyDir === undefined;
    bind(join(of.volumes, name), mountPath, { readOnly: fixed });
  }
  if (container.securityContext?.readOnlyRootFilesystem) lines.push(`mount -o remount,ro ${quoted(root)}`);
  const user = userOf(pod, container);
  const group = container.securityContext?.runAsGroup ?? pod.spec.securityContext?.runAsGroup ?? user;
  const limits = '--clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all';
  lines.push(`exec chroot . setpriv --reuid ${user} --regid ${group} ${limits} "$@"`);
  const node = `/node/${process.execPath.slice(dirname(process.execPath).length + 1)}`;
  return {
    command: 'unshare',
    args: [
      ...['--mount', '--propagation', 'private', 'sh', '-c', lines.join('\n'), 'sh'],
      ...commandLine(container, of.args, '/app', node),
    ],
    // HOME is what container runtimes set for a user that /etc/passwd does not know.
    env: { PATH: process.env['PATH'] ?? '', HOME: '/', ...env },
  };
}

const quoted = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;
