import { type Crd, crds } from '../../src/resources/crd.ts';

/** The definitions of the kinds that people declare; gateways write their own reports. */
export function declaredCrds(): readonly Crd[] {
  return crds().filter(({ spec }) => spec.names.kind !== 'GatewayReport');
}
