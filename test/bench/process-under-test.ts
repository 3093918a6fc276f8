import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pinUnderTest, unpin } from './affinity.ts';
import { residentBytes } from './processor-time.ts';

/** A proxy that runs in a process of its own, pinned once it is ready. */
export interface ProcessUnderTest {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  /** Milliseconds from its start to its readiness. */
  readonly readyMilliseconds: number;
  /** Resident memory in bytes. */
  residentBytes: () => number;
  /** Sends a message to the loop probe and, for `stop`, returns its report. */
  probe: (message: 'start' | 'stop') => Promise<unknown>;
  stop: () => Promise<void>;
}

export interface StartOptions {
  name: string;
  /** What is started; absent: the generator's own Node.js. */
  program?: string;
  arguments: readonly string[];
  /** More environment variables. */
  environment?: Readonly<Record<string, string>>;
  port: number;
  /** Answers 200 when the process is ready; absent: the port accepts a connection. */
  readyURL: string | undefined;
  timeoutMilliseconds: number;
}

/** Starts a proxy and waits until it is ready; throws with the end of its output. */
export async function startProcess(options: StartOptions): Promise<ProcessUnderTest> {
  const start = performance.now();
  const child = spawn(options.program ?? process.execPath, [...options.arguments], {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production', ...options.environment },
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${options.name}: no process`);
  // A child takes over the generator's core; loading may use all of them.
  unpin(pid);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (bytes: Buffer) => {
      output = (output + bytes.toString()).slice(-4000);
    });
  }
  let stopped = false;
  const stop = async () => {
    stopped = true;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 3000);
    await exited;
    clearTimeout(late);
  };
  const probeURL = options.readyURL ?? `http://127.0.0.1:${options.port}/`;
  while (!(await answers(probeURL, options.readyURL !== undefined))) {
    const late = performance.now() - start > options.timeoutMilliseconds;
    if (late || child.exitCode !== null) {
      await stop();
      throw new Error(`${options.name}: ${late ? 'not ready in time' : 'ended'}; its output:\n${output}`);
    }
    await delay(20);
  }
  const readyMilliseconds = performance.now() - start;
  pinUnderTest(pid);
  child.once('exit', (code, signal) => {
    if (!stopped)
      process.stderr.write(`bench: ${options.name} ended by itself (${code ?? signal}): ${output}\n`);
  });
  return {
    ...{ name: options.name, port: options.port, pid, readyMilliseconds, stop },
    residentBytes: () => residentBytes(pid),
    probe: async (message) => {
      // Only the gateway carries the probe.
      if (options.readyURL === undefined) return { stalls: [], milliseconds: 0 };
      child.send(message);
      if (message === 'start') return undefined;
      const [report] = (await once(child, 'message', { signal: AbortSignal.timeout(30_000) })) as unknown[];
      return report;
    },
  };
}

/** A port of 127.0.0.1 that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function answers(url: string, mustBeGood: boolean): Promise<boolean> {
  try {
    const { status, body } = await fetch(url, { signal: AbortSignal.timeout(1000) });
    await body?.cancel();
    return !mustBeGood || status === 200;
  } catch {
    return false;
  }
}
