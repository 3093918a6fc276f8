import { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { UpstreamConnection } from '../../upstream/connection.ts';
import { maskText } from '../../upstream/mask-credentials.ts';

/** A fault that the node has reported, without the credentials of its connection. */
export function maskFault(fault: UpstreamFault, connection: UpstreamConnection): UpstreamFault {
  const message = maskText(fault.message, connection);
  return message === fault.message ? fault : new UpstreamFault(fault.kind, message, fault);
}
