import { hash } from 'node:crypto';
import type { Kind, ResourceOf } from '../store.ts';

/** What an API server would keep beside the manifest of an object. */
export interface ResourceRecord {
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly generation: number;
  /** Tells whether the spec changed while nobody looked; see `specMark`. */
  readonly specMark: string;
  /**
   * The last good spec, to stay in force when the manifest is not valid at the next start. As the file has it, so not
   * checked yet; `recordedObject` does. Absent where it is not ours to write down; see `recordOf`.
   */
  readonly spec?: unknown;
  /** The manifest file that it came from. */
  readonly file?: string | undefined;
  /** As the file has it, so not checked yet; `storedStatus` does. */
  readonly status?: unknown;
}

/** A short text that differs when the spec does. */
export function specMark(spec: unknown): string {
  return hash('sha1', JSON.stringify(spec), 'base64').slice(0, 16);
}

/**
 * The record of an object in force. Without its spec where a node has a header in plain text, because that may be a
 * credential, which goes into no file but its own.
 */
export function recordOf({ metadata, spec, status }: ResourceOf[Kind]): ResourceRecord {
  const { uid = '', creationTimestamp = '', generation = 1 } = metadata;
  const isPlain = 'headers' in spec && spec.headers?.some(({ value }) => value !== undefined) === true;
  return {
    uid,
    creationTimestamp,
    generation,
    specMark: specMark(spec),
    ...(isPlain ? {} : { spec }),
    ...(status && { status }),
  };
}

/** The parts of an id of the form `Kind/namespace/name`. */
export function partsOf(id: string): [kind: string, namespace: string, name: string] {
  const [kind = '', namespace = '', name = ''] = id.split('/');
  return [kind, namespace, name];
}
