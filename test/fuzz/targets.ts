import { standaloneGround } from '../soak/ground.ts';
import type { FuzzOptions, FuzzReport } from './fuzz-report.ts';
import { fuzzHttp } from './http.ts';
import { fuzzNodes } from './nodes.ts';
import { parserProperties } from './parsers.ts';
import { checkProperties } from './properties.ts';
import { fuzzTypes } from './types.ts';
import { fuzzWatch } from './watch.ts';

const targets: Readonly<Record<string, (options: FuzzOptions) => Promise<FuzzReport>>> = {
  async http(options) {
    await using ground = await standaloneGround();
    return await fuzzHttp(ground, options);
  },
  async nodes(options) {
    await using ground = await standaloneGround();
    return await fuzzNodes(ground, options);
  },
  parsers: (options) => checkProperties('parsers', parserProperties, options),
  types: (options) => fuzzTypes(standaloneGround, options),
  watch: fuzzWatch,
};

export const targetNames: readonly string[] = Object.keys(targets);

/** Runs the targets of these names, or all, one after the other. */
export async function* runTargets(options: FuzzOptions, only: readonly string[]): AsyncGenerator<FuzzReport> {
  for (const [name, run] of Object.entries(targets)) {
    if (only.length === 0 || only.includes(name)) yield await run(options);
  }
}
