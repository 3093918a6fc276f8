import { parseArgs } from 'node:util';
import { type Group, groups } from './fault.ts';

export interface FaultOptions {
  /** The long forms too. */
  readonly long: boolean;
  /** Only faults whose id holds one of these texts; all when empty. */
  readonly only: readonly string[];
  readonly groups: readonly Group[];
  /** Print what there is, and run nothing. */
  readonly list: boolean;
}

export const usage = `Usage: npm run faults -- [options]
  --only TEXT    faults whose id holds the text; may be repeated
  --group NAME   ${groups.join(', ')}; may be repeated
  --long         the long forms too, about 15 minutes more
  --list         print the faults and what is promised, and run nothing`;

/** @throws with the words of `parseArgs`, or naming what is unknown */
export function faultOptions(args: readonly string[]): FaultOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      group: { type: 'string', multiple: true, default: [] },
      long: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  const unknown = values.group.filter((name) => !groups.some((group) => group === name));
  if (unknown.length > 0) throw new Error(`--group ${unknown.join(', ')}: use ${groups.join(', ')}`);
  const chosen = groups.filter((group) => values.group.length === 0 || values.group.includes(group));
  return { long: values.long, only: values.only, groups: chosen, list: values.list };
}
