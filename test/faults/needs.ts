import { spawnSync } from 'node:child_process';
import process from 'node:process';
import type { Fault, Need } from './fault.ts';

const has = (program: string, ...args: string[]) =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0;

const checks: Readonly<Record<Need, readonly [lacks: string, isThere: () => boolean]>> = {
  linux: ['needs Linux', () => process.platform === 'linux'],
  mounts: ['needs Linux, root and the right to mount', () => has('unshare', '--mount', 'true')],
  'control plane': [
    'MODEL_GATEWAY_TEST_WITHOUT_API_SERVER is set',
    () => !process.env['MODEL_GATEWAY_TEST_WITHOUT_API_SERVER'],
  ],
};
const found = new Map<Need, boolean>();

/** What this machine lacks for a fault; undefined when it has all. */
export function missing({ needs = [] }: Fault): string | undefined {
  for (const need of needs) {
    const [lacks, isThere] = checks[need];
    if (!found.has(need)) found.set(need, isThere());
    if (found.get(need) === false) return lacks;
  }
  return undefined;
}
