import type { ResourceAddress } from '../kube/paths.ts';
import type { Kind } from './store.ts';

const plurals: Readonly<Record<Kind, string>> = {
  UpstreamNode: 'upstreamnodes',
  APIKey: 'apikeys',
  MasterKey: 'masterkeys',
};

/** Every kind of ours. */
export const kinds = Object.keys(plurals) as readonly Kind[];

/** The API address of one object, or of a list of one namespace or of all. */
export function resourceAddress(kind: Kind, namespace?: string, name?: string): ResourceAddress {
  return { group: 'modelgateway.dev', version: 'v1alpha1', plural: plurals[kind], namespace, name };
}
