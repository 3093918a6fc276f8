import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const insideEnv = 'MODEL_GATEWAY_WALLED';
// With process ids of its own, whatever is started ends with the first process, however it detached itself.
const unshare = ['--user', '--map-root-user', '--net', '--pid', '--fork', '--kill-child'];
const upAndRun = 'ip link set lo up && "$0" "$@"';

/**
 * A command in a network of its own that has nothing but loopback; undefined where the machine offers none. All that it
 * leaves behind is killed. With `ownProc`, `/proc` shows its processes by the ids that it knows.
 */
export function walled(
  command: readonly string[],
  { ownProc = false }: { readonly ownProc?: boolean } = {},
): readonly string[] | undefined {
  const start = ['unshare', ...unshare, ...(ownProc ? ['--mount-proc'] : []), 'sh', '-c', upAndRun];
  const { status } = spawnSync('unshare', [...start.slice(1), 'true'], { stdio: 'ignore', timeout: 10_000 });
  return status === 0 ? ['env', `${insideEnv}=1`, ...start, ...command] : undefined;
}

/** Whether this process runs in such a network. */
export function isWalled(): boolean {
  return process.env[insideEnv] === '1' && existsSync('/proc/self/net/snmp');
}

/**
 * How often something in this network tried to reach beyond loopback: attempts without a route, and datagrams of any
 * kind, for a name server may sit on loopback.
 */
export function attemptsToLeave(): number {
  const [names = '', values = ''] = linesOf('/proc/self/net/snmp', /^Ip:/);
  const [udpNames = '', udpValues = ''] = linesOf('/proc/self/net/snmp', /^Udp:/);
  const six = linesOf('/proc/self/net/snmp6', /^(Ip6OutNoRoutes|Udp6OutDatagrams)\s/);
  const counts = [
    countOf(names, values, 'OutNoRoutes'),
    countOf(udpNames, udpValues, 'OutDatagrams'),
    ...six.map((line) => Number(line.split(/\s+/)[1])),
  ];
  return counts.reduce((sum, count) => sum + count, 0);
}

function linesOf(file: string, which: RegExp): string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => which.test(line));
}

function countOf(names: string, values: string, name: string): number {
  const at = names.split(' ').indexOf(name);
  const value = Number(values.split(' ')[at]);
  if (at < 0 || Number.isNaN(value)) throw new Error(`the kernel counts no ${name}`);
  return value;
}
