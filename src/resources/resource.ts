import type { ApiKey } from './api-key.ts';
import type { MasterKey } from './master-key.ts';
import type { Secret } from './secret.ts';
import type { UpstreamNode } from './upstream-node.ts';

/** An object of any kind that a manifest may declare. */
export type Resource = UpstreamNode | ApiKey | MasterKey | Secret;

/** What is wrong with one field of a document. Safe to show: it never holds what may be a credential. */
export type Problem = {
  /** The field, such as `spec.models[2].name`; empty for the document itself. */
  readonly path: string;
  /** The value found, short and printable; absent where it is missing or may be secret. */
  readonly value?: string;
  /** What is wrong, as a sentence that follows the field's name. */
  readonly reason: string;
  /** What to do about it. */
  readonly remedy: string;
};
