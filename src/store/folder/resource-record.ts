import { hash } from 'node:crypto';
import { z } from 'zod';
import { apiKeySchema } from '../../resources/api-key.ts';
import { masterKeySchema } from '../../resources/master-key.ts';
import { apiVersion, parseStored } from '../../resources/parse.ts';
import { safeParse } from '../../resources/safe-parse.ts';
import { upstreamNodeSchema } from '../../resources/upstream-node.ts';
import type { Kind, ResourceOf } from '../store.ts';
import { identified } from './identified.ts';
import { jsonValue } from './json-value.ts';

const recordSchema = z.object({
  uid: z.string(),
  creationTimestamp: z.string(),
  generation: z.int(),
  /** Shows whether the spec changed while no process ran; see `specMark`. */
  specMark: z.string(),
  /**
   * The last good spec. It stays in force if the manifest is not valid at the next start. `recordedObject` checks it. Absent
   * if it must not be stored; see `recordOf`.
   */
  spec: z.unknown().optional(),
  /** The manifest file that it came from. */
  file: z.string().optional(),
  /** `storedStatus` checks it. */
  status: z.unknown().optional(),
});

/** What an API server would keep beside the manifest of an object. */
export type ResourceRecord = z.infer<typeof recordSchema>;

/** @returns undefined if the text is not a record's */
export function readRecord(text: string): ResourceRecord | undefined {
  return recordSchema.safeParse(jsonValue(text)).data;
}

/** A short text that differs when the spec does. */
export function specMark(spec: unknown): string {
  return hash('sha1', JSON.stringify(spec), 'base64').slice(0, 16);
}

/**
 * The record of an object in force. It leaves out the spec of a node that has a header in plain text, because that may be a
 * credential, and credentials are stored only in Secrets.
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

/** The object of a record as it was last in force; undefined if the record does not hold it. */
export function recordedObject(id: string, record: ResourceRecord): ResourceOf[Kind] | undefined {
  const { spec } = record;
  if (spec === undefined) return undefined;
  const [kind, namespace, name] = partsOf(id);
  const parsed = parseStored({ apiVersion, kind, metadata: { namespace, name }, spec });
  if (!('resource' in parsed) || parsed.resource.kind === 'Secret') return undefined;
  return identified(parsed.resource, record, storedStatus(parsed.resource, record.status));
}

const statusSchemas = {
  UpstreamNode: upstreamNodeSchema.shape.status,
  APIKey: apiKeySchema.shape.status,
  MasterKey: masterKeySchema.shape.status,
};

/** The status of a resource as its record has it, if it is one. */
export function storedStatus<R extends ResourceOf[Kind]>(resource: R, value: unknown): R['status'] {
  const schema: z.ZodType<ResourceOf[Kind]['status']> = statusSchemas[resource.kind];
  return safeParse(schema, value).data;
}

/** The parts of an id of the form `Kind/namespace/name`. */
export function partsOf(id: string): [kind: string, namespace: string, name: string] {
  const [kind = '', namespace = '', name = ''] = id.split('/');
  return [kind, namespace, name];
}
