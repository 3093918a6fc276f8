import type { CallerFormat } from '../../routing/caller-format.ts';
import type { KeyEntry } from '../../store/store.ts';
import type { Conversion } from '../conversion/conversion.ts';
import type { RequestBody } from './body.ts';
import type { BufferShare } from './buffer-budget.ts';
import type { Inspection } from './inspect.ts';

/** A request after its body was read and inspected. */
export interface ModelRequest {
  readonly format: CallerFormat;
  readonly key: KeyEntry;
  /** Whether the caller has left. */
  readonly caller: { readonly gone: boolean };
  /** The memory share of the key. */
  readonly share: BufferShare;
  readonly inspection: Inspection;
  /** The name of the session that the request belongs to; undefined if it names none. Never logged. */
  readonly session: string | undefined;
  /** For the node, flat. */
  readonly headers: readonly string[];
  /** The idempotency key for the node, which `headers` have too. */
  readonly idempotencyKey: string | undefined;
  readonly body: RequestBody;
  /** Made for the first node that does not speak the caller's format. */
  conversion: Conversion | undefined;
}
