import { apiVersion, parseStored } from '../../resources/parse.ts';
import type { Kind, ResourceOf } from '../store.ts';
import { identified } from './identified.ts';
import { partsOf, type ResourceRecord } from './resource-record.ts';
import { storedStatus } from './stored-status.ts';

/** The object of a record as it was last in force; undefined where the record does not tell. */
export function recordedObject(id: string, record: ResourceRecord): ResourceOf[Kind] | undefined {
  const { spec } = record;
  if (spec === undefined) return undefined;
  const [kind, namespace, name] = partsOf(id);
  const parsed = parseStored({ apiVersion, kind, metadata: { namespace, name }, spec });
  if (!('resource' in parsed) || parsed.resource.kind === 'Secret') return undefined;
  return identified(parsed.resource, record, storedStatus(parsed.resource, record.status));
}
