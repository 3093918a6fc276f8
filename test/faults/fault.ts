import type { Scene } from './scene.ts';

export const groups = [
  'process',
  'network',
  'upstream',
  'api-server',
  'manifests',
  'people',
  'callers',
] as const;
export type Group = (typeof groups)[number];

/** One line of the table. */
export interface Fault {
  /** Unique among all; lower case and dashes. */
  readonly id: string;
  readonly group: Group;
  /** What is promised, as a caller or an administrator would say it. */
  readonly promise: string;
  /** Which part of the contract promises it. */
  readonly section: string;
  /**
   * What other callers may notice: nothing (the default), or failed requests while the process is down. Wrong answers and wrong
   * keys that open are never allowed.
   */
  readonly harm?: 'none' | 'while down';
  /** `short`: quick and without a control plane, so `npm test` has it too. `long`: only with `--long`. */
  readonly form?: 'short' | 'full' | 'long';
  /** `own`: the callers of a test that plays it, which are in no column of the table. */
  readonly callers?: 'own';
  /** What the machine must have; left out elsewhere, and the table says so. */
  readonly needs?: readonly Need[];
  /** Brings the fault about and looks. What is not as promised is told to the scene, or thrown. */
  run(scene: Scene): Promise<void>;
}

/** `mounts`: Linux, as root, with the right to mount. */
export type Need = 'linux' | 'mounts' | 'control plane';
