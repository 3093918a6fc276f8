/** What the rules are judged by besides the files. */
export interface Circumstances {
  /** Whose nodes every namespace may use, where they admit it. */
  readonly homeNamespace: string;
  readonly now: Date;
}
