import type { Dialect } from './dialect.ts';
import type { Dropped } from './dropped.ts';
import type { NewId } from './ids.ts';
import type { ToolNames } from './tool-names.ts';

/** What the parts of one Responses request share while it is converted. */
export interface ResponsesContext {
  readonly dialect: Dialect;
  /** The model as the node calls it. */
  readonly model: string;
  readonly names: ToolNames;
  readonly dropped: Dropped;
}

/** What the reply to a Responses request needs to know of it. */
export interface ResponsesState {
  /** The members of the request that every response object repeats, as JSON text between its braces. */
  readonly echo: string;
  /** The model as the node calls it: what it signs is for it alone (kept-signatures.ts). */
  readonly nodeModel: string;
  readonly names: ToolNames;
  /** Whether reasoning is shown as a summary (`reasoning.summary`) or as text. */
  readonly summarized: boolean;
  /** Whether the caller asked for log probabilities. */
  readonly logprobs: boolean;
  readonly newId: NewId;
  /** Unix time in milliseconds. */
  readonly now: () => number;
}
