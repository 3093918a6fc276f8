import { fileURLToPath } from 'node:url';
import { bareEnvironment } from './bare-environment.ts';
import { type Ended, runToEnd } from './run-to-end.ts';

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Runs a command of the product that ends by itself; `input` is its standard input. Killed after 30 s (code -1). */
export function runProduct(commandArguments: readonly string[], input = ''): Promise<Ended> {
  return runToEnd(process.execPath, [mainFile, ...commandArguments], {
    env: bareEnvironment(),
    input,
    timeoutMs: 30_000,
  });
}
