import { cutManagedFields } from './cut-managed-fields.ts';

/** The longest text of an object: etcd takes 1.5 MiB of it; JSON text may be some times larger. */
export const maxObjectLength: number = 16 * 1024 * 1024;

/** Parses JSON text that an API server wrote, without `metadata.managedFields` where they are not wanted; undefined where it is no JSON. */
export function parseObject(json: string, dropsManagedFields: boolean): unknown {
  const short = dropsManagedFields ? cutManagedFields(json) : undefined;
  return (short === undefined ? undefined : parse(short)) ?? parse(json);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
