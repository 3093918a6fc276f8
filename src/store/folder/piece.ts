import type { Resource } from '../../resources/resource.ts';

/** An object that a manifest declares. */
export interface Declaration {
  readonly file: string;
  /** Position of its document in the file, from 1, and the line it starts on. */
  document: number;
  line: number;
  /** Undefined for one that says not even which object it is. */
  id: string | undefined;
  /** Undefined for one that is not valid. */
  readonly resource: Resource | undefined;
}

/** One document as it was read last, with a digest of its text: the text itself would double what is in memory. */
export interface Piece {
  readonly digest: string;
  readonly declarations: readonly Declaration[];
  /** The number of the last reading that found it; one that an older reading found is gone. */
  reading: number;
}

/** Lets others run; called often while a large file is read. */
export type Breathe = () => Promise<void>;
