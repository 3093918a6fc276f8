/** What rules depend on besides the files. */
export interface Circumstances {
  /** The namespace whose nodes may serve keys of every namespace, if they admit it. */
  readonly homeNamespace: string;
  readonly now: Date;
}
