import type { Dialect } from './dialect.ts';
import type { Dropped } from './dropped.ts';
import type { ToolNames } from './tool-names.ts';

/** What the parts of one messages request share while it is converted. */
export interface MessagesContext {
  readonly dialect: Dialect;
  /** The model as the node calls it. */
  readonly model: string;
  readonly names: ToolNames;
  readonly dropped: Dropped;
}
