import type { ResourceAddress } from '../../kube/paths.ts';

/** The API address of one GatewayReport, or of a list of one namespace or of all. */
export function reportAddress(namespace?: string, name?: string): ResourceAddress {
  return { group: 'modelgateway.dev', version: 'v1alpha1', plural: 'gatewayreports', namespace, name };
}
