import { fileURLToPath } from 'node:url';
import { type Ended, runToEnd } from './run-to-end.ts';

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Runs a command of the product that ends by itself; `input` is its standard input. Killed after 30 s (code -1). */
export function runProduct(commandArguments: readonly string[], input = ''): Promise<Ended> {
  const env = { PATH: process.env['PATH'] };
  return runToEnd(process.execPath, [mainFile, ...commandArguments], { env, input, timeoutMs: 30_000 });
}
