/** What rules depend on besides the files. */
export interface Circumstances {
  /** The namespace whose nodes may serve keys of every namespace, if they admit it. */
  readonly homeNamespace: string;
  /** The classes of the installations; empty if they are not known. */
  readonly classes: readonly string[];
  readonly now: Date;
}
