import { cutManagedFields } from './cut-managed-fields.ts';

/** The longest JSON text of an object. etcd stores at most 1.5 MiB, and JSON may be several times larger. */
export const maxObjectLength: number = 16 * 1024 * 1024;

/** Parses JSON text of an API server, without `metadata.managedFields` if `dropsManagedFields`; undefined if it is not JSON. */
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
