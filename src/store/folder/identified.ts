import type { Resource } from '../../resources/resource.ts';
import type { Kind, ResourceOf } from '../store.ts';
import type { Identity } from './identity-maker.ts';

type Stored = ResourceOf[Kind];

/** An object as its author may write it: what only an API server sets is dropped, as it does on creation. */
export function authored<R extends Resource>(resource: R): R {
  const { uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, ...metadata } =
    resource.metadata;
  return { ...resource, metadata };
}

/** An object with what an API server adds. */
export function identified<S extends Stored>(
  resource: S,
  { uid, creationTimestamp, generation }: Identity,
  status: Stored['status'],
): S {
  const { apiVersion, kind, spec } = resource;
  const metadata = { ...authored(resource).metadata, uid, creationTimestamp, generation };
  const whole =
    status === undefined
      ? { apiVersion, kind, metadata, spec }
      : { apiVersion, kind, metadata, spec, status };
  return whole as S;
}

/** The same object with another status. */
export function withStatus<S extends Stored>(
  { apiVersion, kind, metadata, spec }: S,
  status: S['status'],
): S {
  return { apiVersion, kind, metadata, spec, status } as S;
}
