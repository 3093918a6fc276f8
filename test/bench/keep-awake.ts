import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { coresInUse } from './affinity.ts';
import { fineProcessorSeconds, idleSeconds } from './processor-time.ts';

/** Cores that do not sleep. */
export interface AwakeCores {
  /** Seconds for which the core under test has had nothing to do. */
  readonly idleSeconds: () => number;
  /** What to say of it beside the figures; empty where cores are awake. */
  readonly note: string;
  readonly stop: () => Promise<void>;
}

/** Gives way to everything else at once, unlike the lowest niceness. */
const idlePolicy = ['chrt', '--idle', '0'];
/** Looks up from time to time, so that it ends with its parent. */
const spin = `
  process.once('disconnect', () => process.exit());
  (function spin() {
    const until = performance.now() + 20;
    while (performance.now() < until);
    setImmediate(spin);
  })();`;

/**
 * Keeps both cores from sleeping while rates or latencies are compared. A virtual machine's core that has nothing to do is given back to the
 * host and comes back when the host likes: of an echo over loopback with 2 ms between two, p99 was 2.3 to 5.3 ms, with cores awake
 * 0.5 to 0.7. At half saturation cores sleep thousands of times a second, and that was told as the proxies' latency.
 */
export async function keepAwake(): Promise<AwakeCores> {
  const [underTest, generator] = coresInUse();
  const asleep = (note: string): AwakeCores => ({
    idleSeconds: () => idleSeconds(underTest),
    ...{ note, stop: async () => {} },
  });
  if (underTest === undefined || generator === undefined) return asleep('; cores slept: no pinning');
  const children = [underTest, generator].map((core) => spinOn(core));
  const stop = async () => {
    for (const child of children) await end(child);
  };
  // A program that is not there fails within this time.
  await delay(200);
  const [ofCoreUnderTest] = children;
  if (
    ofCoreUnderTest === undefined ||
    children.some((one) => one.exitCode !== null || one.pid === undefined)
  ) {
    await stop();
    return asleep(`; cores slept: no ${idlePolicy[0]}`);
  }
  return {
    idleSeconds: () => fineProcessorSeconds(ofCoreUnderTest.pid ?? 0) + idleSeconds(underTest),
    ...{ note: '', stop },
  };
}

function spinOn(core: number): ChildProcess {
  const command = [...idlePolicy, 'taskset', '-c', String(core), process.execPath, '-e', spin];
  const child = spawn(command[0] ?? '', command.slice(1), {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: { PATH: process.env.PATH },
  });
  child.on('error', () => {});
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
