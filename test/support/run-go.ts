import { spawn } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Guard } from './guard.ts';

const progressEveryMs = 20_000;
const buildTimeoutMs = 30 * 60_000;

export interface GoBuild {
  readonly arguments: readonly string[];
  /** What is built, for the line every 20 seconds that says that it is still going on. */
  readonly what: string;
  /** Folder of the `go.mod` in charge. */
  readonly cwd: string;
  /** A folder that the guard removes; Go's intermediate files go there. */
  readonly folder: string;
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly guard: Guard;
  readonly say: (line: string) => void;
}

/** Runs Go. @throws when it is missing or fails, with the last lines that it wrote. */
export async function runGo(build: GoBuild): Promise<void> {
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1000);
  // Inside the folder that the guard removes: a killed Go leaves its gigabyte of intermediate files behind.
  const scratch = join(build.folder, 'go-tmp');
  await mkdir(scratch);
  const timer = setInterval(
    () => build.say(`still building ${build.what} (${seconds()} s)…`),
    progressEveryMs,
  );
  try {
    await start(build, scratch);
  } finally {
    clearInterval(timer);
  }
  await rm(scratch, { recursive: true });
  build.say(`built in ${seconds()} s`);
}

function start(build: GoBuild, scratch: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', build.arguments, {
      cwd: build.cwd,
      env: {
        ...process.env,
        CGO_ENABLED: '0',
        GOWORK: 'off',
        GOFLAGS: '',
        GOTMPDIR: scratch,
        ...build.env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    });
    const { pid } = child;
    if (pid !== undefined) build.guard.watch(pid);
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
      if (pid !== undefined) build.guard.forget(pid);
      if (code === 0) resolve();
      else
        reject(new Error(`go ${build.arguments[0]} ended with ${code ?? signal}:\n${lastLines(output, 12)}`));
    });
  });
}

function lastLines(text: string, count: number): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
